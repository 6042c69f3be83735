//go:build (amd64 || arm64) && !static

package amp

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// callbacks is filled in by the assembly.
var callbacks [16]uintptr

// callingThread returns the system's id of this thread. It does not enter the
// runtime, so it may be called by a thread without a P.
func callingThread() uint64 {
	id, _, _ := syscall.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	return uint64(id)
}
