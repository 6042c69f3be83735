package amp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultFaultSignals leaves fault signals to the system, without a core dump: the parent
// is waiting, and a trace of this process's goroutines would not help to debug
// the library.
func defaultFaultSignals() {
	var standard struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, sig := range []syscall.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT} {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	}
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
