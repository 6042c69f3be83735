//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package file

import "golang.org/x/sys/unix"

// release drops pages from this process; it cannot influence the page cache.
func release(b []byte, _ bool) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
