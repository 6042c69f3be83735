//go:build !unix && !windows

package flow

import (
	"errors"
	"unsafe"
)

// A region is a block of Go's heap, which does not move either. It is committed
// as a whole, and therefore small.
type region struct {
	base unsafe.Pointer
	size int
}

func pageBytes() int { return 4096 }

func reserve(n int) (region, error) {
	if n > leastReserve {
		return region{}, errors.New("this system cannot reserve addresses")
	}
	b := make([]byte, n+ArenaAlign)
	at := unsafe.Pointer(unsafe.SliceData(b))
	return region{unsafe.Add(at, -uintptr(at)%ArenaAlign), n}, nil
}

func (r *region) commit(int, int) error { return nil }

func (r *region) release() error {
	r.base = nil
	return nil
}
