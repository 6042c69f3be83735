//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock waits for the lock of an open file. Closing the file releases it.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}
