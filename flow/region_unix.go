//go:build unix

package flow

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"atenia/internal/fault"
)

// A region is address space from the system.
type region struct {
	base   unsafe.Pointer
	size   int
	mapped []byte
}

func pageBytes() int { return max(os.Getpagesize(), ArenaAlign) }

// reserve reserves addresses without memory: touching them faults.
func reserve(n int) (region, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return region{}, err
	}
	return region{unsafe.Pointer(unsafe.SliceData(b)), n, b}, nil
}

// commit makes whole pages readable and writable.
func (r *region) commit(from, to int) error {
	return unix.Mprotect(r.mapped[from:to], unix.PROT_READ|unix.PROT_WRITE)
}

func (r *region) release() error {
	b := r.mapped
	r.mapped = nil
	if !fault.Invariants {
		return unix.Munmap(b)
	}
	// The addresses stay reserved, so that a use after release faults instead
	// of reading memory that was allocated later.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
	return unix.Mprotect(b, unix.PROT_NONE)
}
