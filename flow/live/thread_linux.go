package live

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prepare applies the configuration to the calling thread, and returns what the
// system refused, with advice.
func (l *Loop) prepare() (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if !supported {
		warn("this build runs real time on a goroutine, subject to Go's scheduler: build without -tags static and -race")
	}
	if l.cfg.Processor > 0 {
		var set unix.CPUSet
		set.Set(l.cfg.Processor - 1)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			warn("processor %d: %v", l.cfg.Processor, err)
		}
	}
	if l.cfg.LockMemory {
		if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
			warn("memory is not locked: %v (raise RLIMIT_MEMLOCK)", err)
		}
	}
	if (l.cfg.Rate > 0 || l.cfg.Paced) && l.cfg.Priority >= 0 {
		p := l.cfg.Priority
		if p == 0 {
			p = defaultPriority
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(p)}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			warn("SCHED_FIFO %d: %v (raise RLIMIT_RTPRIO or give CAP_SYS_NICE): blocks will be late under load", p, err)
		} else {
			l.rep.FIFO = p
		}
	}
	return warnings
}

// sleepUntil sleeps until [watch.Nanotime] is t, or a signal arrives. On a
// native thread the system call is a raw one, since there is no P to release.
// On a goroutine it releases the P.
func sleepUntil(t int64) {
	at := unix.NsecToTimespec(t)
	p := uintptr(unsafe.Pointer(&at))
	if supported {
		_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, p, 0, 0, 0)
	} else {
		_, _, _ = syscall.Syscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, p, 0, 0, 0)
	}
}
