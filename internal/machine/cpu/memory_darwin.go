package cpu

import "golang.org/x/sys/unix"

// systemMemory returns the machine's memory and what programs can allocate,
// which the kernel reports in percent and which includes cached files and
// compressible pages.
func systemMemory() (total, available int64) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	total = int64(n)
	if level, err := unix.SysctlUint32("kern.memorystatus_level"); err == nil && level <= 100 {
		available = total / 100 * int64(level)
	}
	return total, available
}
