package flow

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"atenia/internal/fault"
)

// A region is address space from the system.
type region struct {
	base unsafe.Pointer
	size int
}

func pageBytes() int { return os.Getpagesize() }

// reserve reserves addresses without memory: touching them faults.
func reserve(n int) (region, error) {
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return region{}, err
	}
	// The address was allocated by the system, not by Go.
	return region{*(*unsafe.Pointer)(unsafe.Pointer(&at)), n}, nil
}

// commit makes whole pages readable and writable.
func (r *region) commit(from, to int) error {
	_, err := windows.VirtualAlloc(uintptr(r.base)+uintptr(from), uintptr(to-from), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

func (r *region) release() error {
	if fault.Invariants {
		// The addresses stay reserved, so that a use after release faults.
		return windows.VirtualFree(uintptr(r.base), uintptr(r.size), windows.MEM_DECOMMIT)
	}
	return windows.VirtualFree(uintptr(r.base), 0, windows.MEM_RELEASE)
}
