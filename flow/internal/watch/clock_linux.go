package watch

import _ "unsafe" // for linkname

// Nanotime is CLOCK_MONOTONIC in nanoseconds, read without a system call and
// allowed on the system stack.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64
