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
// it there until shoo or release. It takes effect when the caller sleeps.
func (s *seating) fetch(t *thread) bool {
	var here unix.CPUSet
	cpu, ok := processor()
	if !ok || !s.allowed.IsSet(cpu) {
		return false
	}
	here.Set(cpu)
	return unix.SchedSetaffinity(int(t.id.Load()), &here) == nil
}

// release lets t, once fetched, run anywhere again; it stays where it is until
// the system sees a reason to move it.
func (s *seating) release(t *thread) { _ = unix.SchedSetaffinity(int(t.id.Load()), &s.allowed) }

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
