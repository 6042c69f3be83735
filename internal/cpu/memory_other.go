//go:build !linux && !darwin && !windows

package cpu

// systemMemory knows nothing of this system.
func systemMemory() (total, available int64) { return 0, 0 }
