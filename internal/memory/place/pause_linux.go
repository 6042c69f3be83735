package place

import "golang.org/x/sys/unix"

// pause sleeps for some microseconds.
func pause() { _ = unix.Nanosleep(&unix.Timespec{Nsec: 10_000}, nil) }
