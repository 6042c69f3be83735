package cpu

import (
	"bytes"
	"os"
	"strconv"
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
