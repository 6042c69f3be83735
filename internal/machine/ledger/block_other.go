//go:build !unix

package ledger

import (
	"unsafe"
)

// A Block is aligned memory of Go's heap, where the system has no mmap. The zero Block is
// empty.
type Block struct {
	Bytes []byte
	room  Reservation
}

// NewBlock returns a block of n bytes that are reserved in an account, or fails with a
// [*MemoryError].
func NewBlock(a *Account, u Use, n int) (Block, error) { return aligned(a, u, n, 4096) }

// NewHugeBlock is [NewBlock] for memory that is repeatedly read in full.
func NewHugeBlock(a *Account, u Use, n int) (Block, error) {
	return aligned(a, u, n, HugePage)
}

func aligned(a *Account, u Use, n int, align uintptr) (Block, error) {
	room, err := reserveBlock(a, u, n)
	if err != nil {
		return Block{}, err
	}
	b := make([]byte, n+int(align))
	at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % align
	return Block{b[at:][:n:n], room}, nil
}

// Release leaves the block to the garbage collector.
func (b *Block) Release() {
	b.room.Release()
	b.Bytes = nil
}
