//go:build !linux

package cpu

import "time"

var epoch = time.Now()

// Nanotime returns a monotonic clock in nanoseconds.
func Nanotime() int64 { return int64(time.Since(epoch)) }
