//go:build !unix

package arena

import (
	"unsafe"

	"atenia/internal/machine/ledger"
)

// A Block is memory from the system. The zero Block is empty.
type Block struct {
	Bytes []byte
	room  ledger.Reservation
}

// New returns a block of n bytes that are reserved in an account, or fails with a
// [*MemoryError].
func New(a *ledger.Account, u ledger.Use, n int) (Block, error) { return aligned(a, u, n, 4096) }

// NewHuge is [New] for memory that is repeatedly read in full.
func NewHuge(a *ledger.Account, u ledger.Use, n int) (Block, error) {
	return aligned(a, u, n, hugePage)
}

func aligned(a *ledger.Account, u ledger.Use, n int, align uintptr) (Block, error) {
	room, err := reserve(a, u, n)
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
