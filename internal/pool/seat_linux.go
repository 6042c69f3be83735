package pool

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread of the system; the zero thread is unknown.
type thread struct {
	id   atomic.Int32
	kept atomic.Int32 // off this processor, plus one

	moving atomic.Bool // somebody is bringing it
}

// sit makes t the thread that runs.
func (t *thread) sit() {
	if id := int32(unix.Gettid()); t.id.Load() != id { // others read its cache line
		t.id.Store(id)
	}
}

// A seating says where threads of a pool may run. Calls that the system
// refuses, as sandboxes do, change nothing.
type seating struct {
	on      bool        // there is a processor for each thread
	allowed unix.CPUSet // by the affinity mask, when the pool was made
}

func (s *seating) look(threads int) {
	s.on = threads > 1 && unix.SchedGetaffinity(0, &s.allowed) == nil && s.allowed.Count() >= threads
}

// clock returns the processor time that t has used; false if it is unknown.
func (s *seating) clock(t *thread) (time.Duration, bool) {
	const ofThread = 4 | 2 // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED, in the low bits of ^tid<<3
	id := t.id.Load()
	var ts unix.Timespec
	if !s.on || id == 0 || unix.ClockGettime(^id<<3|ofThread, &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// fetch moves t, which does not run, to the processor of the caller and keeps
// it there until shoo. It takes effect when the caller sleeps.
func (s *seating) fetch(t *thread) bool {
	var here unix.CPUSet
	cpu, ok := processor()
	if !ok || !s.allowed.IsSet(cpu) {
		return false
	}
	here.Set(cpu)
	return unix.SchedSetaffinity(int(t.id.Load()), &here) == nil
}

// bring moves t, which does not run, to the processor of the caller, where it
// stays until the system sees a reason to move it. Its mask is its owner's: t
// has the same one before and after, and is left alone if that forbids the
// processor.
func (s *seating) bring(t *thread) bool {
	if !t.moving.CompareAndSwap(false, true) {
		return false // a second one would take the mask of the move for t's own
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

// shoo lets t run anywhere but on the processor of the caller.
func (s *seating) shoo(t *thread) {
	set := s.allowed
	if cpu, ok := processor(); ok {
		set.Clear(cpu)
		t.kept.Store(int32(cpu) + 1)
	}
	_ = unix.SchedSetaffinity(int(t.id.Load()), &set)
}

// reseat is for a worker that did not come. If it is kept off a processor that
// the caller has left since, it may be waiting for the one that the caller is on.
func (s *seating) reseat(t *thread) {
	if kept := t.kept.Load(); kept != 0 {
		if cpu, ok := processor(); ok && int32(cpu)+1 != kept {
			s.shoo(t)
		}
	}
}

// processor returns the number of the processor that runs this.
func processor() (int, bool) {
	var cpu uint32
	_, _, err := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu), err == 0
}
