//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package modelfile

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

// advise applies to the whole pages that b touches, or, when they are to go,
// to those that b covers: their neighbours may be in use.
func advise(b []byte, a Advice) error {
	page := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	before := start % page // bytes of the first page that are not b's
	p := unsafe.Pointer(unsafe.SliceData(b))
	n := uintptr(len(b))
	if a == DontNeed {
		skip := (page - before) % page
		if skip >= n {
			return nil
		}
		n = (n - skip) / page * page
		p = unsafe.Add(p, skip)
	} else {
		p = unsafe.Add(p, -int(before))
		n += before
	}
	if n == 0 {
		return nil
	}
	return unix.Madvise(unsafe.Slice((*byte)(p), n), advices[a])
}
