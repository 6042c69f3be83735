//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package file

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapBytes(f *os.File, n int) (data []byte, unmap func() error, err error) {
	data, err = unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

var advices = [...]int{
	WillNeed: unix.MADV_WILLNEED, Random: unix.MADV_RANDOM,
	Sequential: unix.MADV_SEQUENTIAL, DontNeed: unix.MADV_DONTNEED,
}

// advise applies to all pages that b touches, or, with DontNeed, to those that b
// covers completely, because their neighbours may be in use.
func advise(b []byte, a Advice) error {
	if a == DontNeed {
		b = wholePages(b)
	} else {
		before := int(address(b) % uintptr(os.Getpagesize())) // bytes of the first page before b
		b = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), -before)), before+len(b))
	}
	if len(b) == 0 {
		return nil
	}
	return unix.Madvise(b, advices[a])
}

// wholePages returns the pages that b covers completely.
func wholePages(b []byte) []byte {
	page := uintptr(os.Getpagesize())
	skip := int(-address(b) % page)
	if skip >= len(b) {
		return nil
	}
	return b[skip : skip+(len(b)-skip)/int(page)*int(page)]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
