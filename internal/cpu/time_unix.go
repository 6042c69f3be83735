//go:build unix

package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time returns how long this process has used processors, all of its threads
// together; 0 if the system does not say.
func Time() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
