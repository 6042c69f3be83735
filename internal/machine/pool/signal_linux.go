package pool

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A signal is a futex on the parker's state.
type signal struct{}

const (
	futexWait = 0 | 128 // FUTEX_PRIVATE_FLAG: threads of one process
	futexWake = 1 | 128
)

func (signal) make() {}

// wait sleeps in the kernel while the word is asleep. It is an ordinary system
// call to Go, so that the sleeper releases its P to garbage collections and
// other goroutines. A raw call would be some 50 ns faster and would block both
// until the next section.
func (signal) wait(word *atomic.Uint32) {
	for word.Load() == asleep {
		// After every error, including EINTR and EAGAIN, check again.
		_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, asleep, 0, 0, 0)
	}
}

// notify never blocks, so a raw call is safe.
func (signal) notify(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}
