package ledger

import (
	"errors"
	"fmt"
)

// HugePage is the size and alignment of a huge page of x86-64 and arm64. A disk reads into
// one several times faster than into as many pages of 4 KiB where each of these is a transfer
// of its own.
const HugePage = 2 << 20

// A MemoryError says that a block was not allocated: its account has no room, an
// error that matches [ErrFull], or the system has none.
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

func reserveBlock(a *Account, u Use, n int) (Reservation, error) {
	if n < 0 {
		return Reservation{}, &MemoryError{n, errNegative}
	}
	room, err := a.ReserveOutside(u, int64(n))
	if err != nil {
		return room, &MemoryError{n, err}
	}
	return room, nil
}
