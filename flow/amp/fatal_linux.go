package amp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultFaultSignals leaves fault signals to the kernel, without a core dump:
// the process ends at once, and the parent notices. Go's handler would print a
// trace of all goroutines first, which does not help to debug a C library.
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
