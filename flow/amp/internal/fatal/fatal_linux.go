package fatal

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Default leaves the signals of faults to the system, and dumps no core: the
// parent is waiting, and no trace of this process's goroutines helps anybody.
func Default() {
	var standard struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, sig := range []syscall.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT} {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	}
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
