//go:build (amd64 || arm64) && !static

package amp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// follow takes over the scheduling of the thread that makes the requests, which is in another process: policy and
// priority, processors, and whether memory is locked. A child that is scheduled otherwise is late when the machine is
// busy, however early its caller was.
//
// A child that is bound to the one processor of its caller gets one priority less: the caller must be able to go on when
// the child does not answer.
func (s *server) follow(thread int) {
	var set unix.CPUSet
	alone := false
	if unix.SchedGetaffinity(thread, &set) == nil {
		alone = set.Count() == 1
		unix.SchedSetaffinity(0, &set)
	}
	priority, err := uint32(0), error(nil)
	if attr, get := unix.SchedGetAttr(thread, 0); get == nil {
		switch attr.Policy {
		case unix.SCHED_FIFO, unix.SCHED_RR:
			priority = attr.Priority
			if alone && priority > 1 {
				priority--
			}
			err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: attr.Policy, Priority: priority}, 0)
			if err != nil {
				priority = 0
			}
			if err == nil && locked(os.Getppid()) { // pages are locked when they are first used: reserved memory is not filled
				err = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
			}
		default:
			unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: attr.Policy, Nice: attr.Nice}, 0)
		}
	}
	s.r.store(offPriority, priority)
	errno := syscall.Errno(0)
	errors.As(err, &errno)
	s.r.store(offRefused, uint32(errno))
}

// locked reports whether a process has locked memory.
func locked(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, line, _ := bytes.Cut(b, []byte("VmLck:"))
	line, _, _ = bytes.Cut(line, []byte("kB"))
	n := bytes.TrimSpace(line)
	return len(n) > 0 && !bytes.Equal(n, []byte("0"))
}
