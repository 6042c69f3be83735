package pool

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread is a thread of the system; the zero thread is unknown.
type thread struct {
	id      atomic.Int32
	avoided atomic.Int32 // processor to avoid, plus one

	moving atomic.Bool // a move is in progress
}

// setCurrent makes t the running thread.
func (t *thread) setCurrent() {
	if id := int32(unix.Gettid()); t.id.Load() != id { // a store would invalidate the cache line for its readers
		t.id.Store(id)
	}
}

// An affinity controls where threads of a pool may run. If the system refuses
// calls, as sandboxes do, it has no effect.
type affinity struct {
	on      bool        // there is a processor for each thread
	allowed unix.CPUSet // affinity mask when the pool was created
}

func (a *affinity) look(threads int) {
	a.on = threads > 1 && unix.SchedGetaffinity(0, &a.allowed) == nil && a.allowed.Count() >= threads
}

// clock returns the processor time used by t; false if unknown.
func (a *affinity) clock(t *thread) (time.Duration, bool) {
	const ofThread = 4 | 2 // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED, in the low bits of ^tid<<3
	id := t.id.Load()
	var ts unix.Timespec
	if !a.on || id == 0 || unix.ClockGettime(^id<<3|ofThread, &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// pin moves t, which is not running, to the caller's core and pins it there
// until avoid. The caller must then sleep.
func (a *affinity) pin(t *thread) bool {
	var here unix.CPUSet
	cpu, ok := processor()
	if !ok || !a.allowed.IsSet(cpu) {
		return false
	}
	here.Set(cpu)
	return unix.SchedSetaffinity(int(t.id.Load()), &here) == nil
}

// pull moves t, which is not running, to the caller's core, where it stays until
// the system migrates it. Its affinity mask belongs to its owner and is
// restored; if the mask excludes the core, t is not moved.
func (a *affinity) pull(t *thread) bool {
	if !t.moving.CompareAndSwap(false, true) {
		return false // a concurrent move would save the temporary mask as t's own
	}
	defer t.moving.Store(false)
	var own, here unix.CPUSet
	id := int(t.id.Load())
	cpu, ok := processor()
	if !ok || unix.SchedGetaffinity(id, &own) != nil || !own.IsSet(cpu) {
		return false
	}
	here.Set(cpu)
	if unix.SchedSetaffinity(id, &here) != nil {
		return false
	}
	_ = unix.SchedSetaffinity(id, &own)
	return true
}

// avoid lets t run anywhere but on the caller's core.
func (a *affinity) avoid(t *thread) {
	set := a.allowed
	if cpu, ok := processor(); ok {
		set.Clear(cpu)
		t.avoided.Store(int32(cpu) + 1)
	}
	_ = unix.SchedSetaffinity(int(t.id.Load()), &set)
}

// update is for a worker that did not arrive. If it avoids a core that the
// caller has left since, it may be waiting for the caller's current one.
func (a *affinity) update(t *thread) {
	if avoided := t.avoided.Load(); avoided != 0 {
		if cpu, ok := processor(); ok && int32(cpu)+1 != avoided {
			a.avoid(t)
		}
	}
}

// processor returns the number of the current processor.
func processor() (int, bool) {
	var cpu uint32
	_, _, err := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu), err == 0
}
