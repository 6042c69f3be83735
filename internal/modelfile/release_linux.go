package modelfile

import "golang.org/x/sys/unix"

// release takes pages out of this process. Advice that an old system does not
// know costs nothing but the advantage.
func release(b []byte, evict bool) {
	cache := unix.MADV_COLD
	if evict {
		cache = unix.MADV_PAGEOUT
	}
	_ = unix.Madvise(b, cache) // while they are mapped: both act on what the process has
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}
