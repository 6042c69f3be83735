package file

import "golang.org/x/sys/unix"

// release unmaps pages from this process. Kernels that do not support an advice
// ignore it.
func release(b []byte, evict bool) {
	cache := unix.MADV_COLD
	if evict {
		cache = unix.MADV_PAGEOUT
	}
	_ = unix.Madvise(b, cache) // while they are still mapped: both kinds of advice act on this process's page tables
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}
