//go:build !linux

package place

import "time"

// pause sleeps for some microseconds, or as shortly as the system can.
func pause() { time.Sleep(10 * time.Microsecond) }
