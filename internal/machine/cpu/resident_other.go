//go:build !linux

package cpu

import "time"

// Resident returns 0: unknown on this system.
func Resident() int64 { return 0 }

// PeakResident returns 0: unknown on this system.
func PeakResident() int64 { return 0 }

// ResidentFiles returns how much of files is mapped and in memory: the code of
// this program with its libraries, and data; and how much Go's heap has in memory.
// All are 0 if that is not known.
func ResidentFiles() (code, data, heap int64) { return 0, 0, 0 }

// Image returns 0: unknown on this system.
func Image() int64 { return 0 }

// ReadBytes returns 0: unknown on this system.
func ReadBytes() int64 { return 0 }

// Delay reports that it is unknown on this system.
func Delay() (d Delays, known bool) { return Delays{}, false }

// BeginThread does nothing: delays are unknown on this system.
func BeginThread() {}

// Taken reports that it is unknown on this system.
func Taken() (d time.Duration, known bool) { return 0, false }

// EndThread does nothing: delays are unknown on this system.
func EndThread() {}
