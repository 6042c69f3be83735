//go:build !linux

package cpu

func (i *Info) system() {}

// AvailableMemory returns how many bytes this process may still take; 0 = not
// known.
func AvailableMemory() int64 { return 0 }
