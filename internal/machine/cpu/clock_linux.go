package cpu

import _ "unsafe" // for linkname

// Nanotime returns CLOCK_MONOTONIC in nanoseconds. It makes no system call and
// may be called on the system stack.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64
