package watch

import _ "unsafe" // for linkname

// nanotime is CLOCK_MONOTONIC in nanoseconds, read without a system call and
// allowed on the system stack.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
