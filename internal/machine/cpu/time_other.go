//go:build !unix

package cpu

import "time"

// Time returns 0: not supported on this system.
func Time() time.Duration { return 0 }

// Faults returns 0: not supported on this system.
func Faults() int64 { return 0 }
