//go:build unix

package arena

import (
	"unsafe"

	"atenia/internal/machine/ledger"

	"golang.org/x/sys/unix"
)

// A Block is memory from the system. The zero Block is empty.
type Block struct {
	Bytes  []byte
	mapped []byte // as returned by Mmap
	room   ledger.Reservation
}

// New returns a block of n bytes that are reserved in an account, or fails with a
// [*MemoryError].
func New(a *ledger.Account, u ledger.Use, n int) (Block, error) {
	room, err := reserve(a, u, n)
	if err != nil {
		return Block{}, err
	}
	b, err := mapped(n)
	if err != nil {
		room.Release()
		return Block{}, err
	}
	return Block{b, b, room}, nil
}

// NewHuge is [New] for memory that is repeatedly read in full: the block is
// aligned to 2 MiB and backed by huge pages if available, which read a tenth
// faster than pages of 4 KiB. Touching a byte then allocates 2 MiB.
func NewHuge(a *ledger.Account, u ledger.Use, n int) (Block, error) {
	if n <= 0 {
		return New(a, u, n)
	}
	room, err := reserve(a, u, n)
	if err != nil {
		return Block{}, err
	}
	b, err := mapped(n + hugePage)
	if err != nil {
		room.Release()
		return Block{}, err
	}
	at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage
	block := Block{b[at:][:n:n], b, room}
	adviseHuge(block.Bytes)
	return block, nil
}

func mapped(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, &MemoryError{n, err}
	}
	return b, nil
}

// Release frees the block. Its bytes must not be used afterwards.
func (b *Block) Release() {
	if b.mapped != nil {
		_ = unix.Munmap(b.mapped) // fails only for a slice not returned by Mmap
		b.room.Release()
		*b = Block{}
	}
}
