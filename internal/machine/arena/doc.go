// Package arena allocates large blocks of memory outside Go's heap. Every block is
// reserved in an account of package ledger before it is taken.
//
// A [Block] is zeroed, page-aligned, and backed by memory only as it is touched.
// Running out of memory is an error, whereas an allocation on the heap would end
// the program. On systems without mmap a block is ordinary aligned memory.
//
//	New      4 KiB pages   caches, which take pages as sequences grow
//	NewHuge  2 MiB pages   weights and scratch, which are streamed
package arena

import (
	"errors"
	"fmt"

	"atenia/internal/machine/ledger"
)

// hugePage is the size and alignment of a huge page of x86-64 and arm64.
const hugePage = 2 << 20

// A MemoryError says that a block was not allocated: its account has no room, an
// error that matches [ledger.ErrFull], or the system has none.
type MemoryError struct {
	Bytes int
	Err   error
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("no memory for %d bytes: %v", e.Bytes, e.Err)
}

// Unwrap returns the system's error.
func (e *MemoryError) Unwrap() error { return e.Err }

var errNegative = errors.New("negative size")

func reserve(a *ledger.Account, u ledger.Use, n int) (ledger.Reservation, error) {
	if n < 0 {
		return ledger.Reservation{}, &MemoryError{n, errNegative}
	}
	room, err := a.ReserveOutside(u, int64(n))
	if err != nil {
		return room, &MemoryError{n, err}
	}
	return room, nil
}
