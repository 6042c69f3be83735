//go:build (amd64 || arm64) && !static

package isolate

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0
	futexWake = 1
)

// sleep waits while a word shared between processes has a value, at most so
// many nanoseconds; it may return early. A thread without a P must not tell the
// runtime that it waits, and need not: it keeps nobody from running.
func sleep(word *uint32, value uint32, ns int64, raw bool) {
	t := unix.NsecToTimespec(ns)
	if raw {
		syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&t)), 0, 0)
		return
	}
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// spins is how often a word is looked at before sleeping on it, some 10 µs:
// waking a processor that sleeps takes five times as long as most nodes do. With
// one processor nobody can write the word meanwhile.
var spins = map[bool]int{true: 10000}[runtime.NumCPU() > 1]

// changed looks at a word for a short while and reports whether it has another
// value than the given one.
func changed(word *uint32, value uint32) bool {
	for range spins {
		if atomic.LoadUint32(word) != value {
			return true
		}
	}
	return false
}

// wake wakes who sleeps on a word.
func wake(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<30, 0, 0, 0)
}

// now is the monotonic clock in nanoseconds.
func now() int64 {
	var t unix.Timespec
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// A latch excludes threads with and without a P alike: 0 free, 1 held, 2 held
// and waited for (Drepper, Futexes are tricky, 2011).
type latch struct{ word uint32 }

func (l *latch) lock(raw bool) {
	if atomic.CompareAndSwapUint32(&l.word, 0, 1) {
		return
	}
	for atomic.SwapUint32(&l.word, 2) != 0 {
		sleep(&l.word, 2, 1e9, raw)
	}
}

func (l *latch) unlock() {
	if atomic.SwapUint32(&l.word, 0) == 2 {
		wake(&l.word)
	}
}
