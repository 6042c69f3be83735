package pool

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A bell is a futex on the bed's word.
type bell struct{}

const (
	futexWait = 0 | 128 // FUTEX_PRIVATE_FLAG: threads of one process
	futexWake = 1 | 128
)

func (bell) make() {}

// wait sleeps in the kernel while the word says asleep. It is an ordinary
// system call to Go: the sleeper gives its P away, for garbage collections and
// for other goroutines. A raw one would be quicker by some 50 ns and would hold
// both up until the next section.
func (bell) wait(word *atomic.Uint32) {
	for word.Load() == asleep {
		// Every error, EINTR and EAGAIN among them, means: look again.
		_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, asleep, 0, 0, 0)
	}
}

// ring never blocks, so Go need not know of it.
func (bell) ring(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}
