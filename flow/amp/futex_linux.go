//go:build (amd64 || arm64) && !static

package amp

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

// sleep waits at most ns nanoseconds while a shared word has a value; it may
// return early. A thread without a P must not tell the runtime that it blocks,
// and need not: it holds no resource of the scheduler.
func sleep(word *uint32, value uint32, ns int64, raw bool) {
	t := unix.NsecToTimespec(ns)
	if raw {
		syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&t)), 0, 0)
		return
	}
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// spins is the number of polls before sleeping on a word, about 10 µs: waking
// an idle processor takes five times as long as most nodes do. With one
// processor polling is useless, since no other thread can write the word
// meanwhile.
var spins = map[bool]int{true: 10000}[runtime.NumCPU() > 1]

// changed polls a word for a short while and reports whether it differs from
// value.
func changed(word *uint32, value uint32) bool {
	for range spins {
		if atomic.LoadUint32(word) != value {
			return true
		}
	}
	return false
}

// wake wakes the sleepers on a word.
func wake(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<30, 0, 0, 0)
}

// now is the monotonic clock in nanoseconds.
func now() int64 {
	var t unix.Timespec
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// A latch is a mutex for threads with and without a P: 0 free, 1 held, 2 held
// with waiters (Drepper, Futexes are tricky, 2011).
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
