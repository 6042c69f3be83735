package cpu

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Resident returns the bytes of memory that this process has, mapped files
// included; 0 = not known.
func Resident() int64 {
	b, err := os.ReadFile("/proc/self/statm") // pages: size, resident, …
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	return n * int64(os.Getpagesize())
}

// PeakResident returns the most memory that this process has had, in bytes; 0 =
// not known. What the system counts for a process may have begun before it: in
// the one that started it and lent it its memory until then. So the account of
// this program's own memory comes first.
func PeakResident() int64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range bytes.Lines(b) {
			f := bytes.Fields(line)
			if len(f) < 2 || string(f[0]) != "VmHWM:" {
				continue
			}
			if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return n << 10
			}
		}
	}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}

// ReadBytes returns how many bytes this process has made the system fetch from
// storage; 0 = not known.
func ReadBytes() int64 {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("read_bytes: ")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
