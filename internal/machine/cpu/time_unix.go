//go:build unix

package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time returns the processor time used by all threads of this process; 0 if the
// system does not report it.
func Time() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Faults returns how many page faults of this process waited for a disk; 0 if the
// system does not report it.
func Faults() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Majflt)
}
