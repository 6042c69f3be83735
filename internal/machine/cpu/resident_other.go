//go:build !linux

package cpu

// Resident returns 0: unknown on this system.
func Resident() int64 { return 0 }

// PeakResident returns 0: unknown on this system.
func PeakResident() int64 { return 0 }

// ReadBytes returns 0: unknown on this system.
func ReadBytes() int64 { return 0 }
