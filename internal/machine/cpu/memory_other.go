//go:build !linux && !darwin && !windows

package cpu

// systemMemory returns zeros: memory is not known on this system.
func systemMemory() (total, available int64) { return 0, 0 }
