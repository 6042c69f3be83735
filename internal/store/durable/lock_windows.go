package durable

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the lock of an open file. Closing the file releases it.
func lock(f *os.File, m mode) error {
	const wholeFile = ^uint32(0)
	how := uint32(0)
	if m&shares == 0 {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if m&waits == 0 {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, wholeFile, wholeFile, new(windows.Overlapped))
	if err == windows.ERROR_LOCK_VIOLATION {
		return ErrLocked
	}
	return err
}
