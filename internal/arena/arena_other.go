//go:build !unix

package arena

import (
	"errors"
	"unsafe"
)

// A Block is memory from the system. The zero Block is empty.
type Block struct{ Bytes []byte }

const align = 4096

// New returns a block of n bytes, or a [*MemoryError].
func New(n int) (Block, error) {
	if n < 0 {
		return Block{}, &MemoryError{n, errors.New("negative size")}
	}
	b := make([]byte, n+align)
	at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % align
	return Block{b[at:][:n]}, nil
}

// Release leaves the block to the garbage collector.
func (b *Block) Release() { b.Bytes = nil }
