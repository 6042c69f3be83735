//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the lock of an open file. Closing the file releases it.
func lock(f *os.File, m mode) error {
	how := unix.LOCK_EX
	if m&shares != 0 {
		how = unix.LOCK_SH
	}
	if m&waits == 0 {
		how |= unix.LOCK_NB
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrLocked
		default:
			return err
		}
	}
}
