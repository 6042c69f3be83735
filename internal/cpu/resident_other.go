//go:build !linux

package cpu

// Resident returns 0: it is not known here.
func Resident() int64 { return 0 }

// PeakResident returns 0: it is not known here.
func PeakResident() int64 { return 0 }

// ReadBytes returns 0: it is not known here.
func ReadBytes() int64 { return 0 }
