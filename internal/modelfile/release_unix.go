//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package modelfile

import "golang.org/x/sys/unix"

// release takes pages out of this process; the system's cache is its own.
func release(b []byte, _ bool) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
