package cpu

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Resident returns the resident set size of this process, including mapped
// files; 0 = unknown.
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

// PeakResident returns the peak resident set size of this process in bytes; 0 =
// unknown. It prefers the counter of this program's address space, because that
// of the process may include the parent's memory, shared between fork and exec.
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

// Image returns the bytes of this program's own file that are mapped, in memory or
// not: its code and data, the same in all processes of a program; 0 = unknown.
func Image() int64 {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	return imageBytes(b, self)
}

// imageBytes adds up the lines of maps, "from-to mode offset device inode path", of
// one file.
func imageBytes(maps []byte, path string) (n int64) {
	for line := range strings.Lines(string(maps)) {
		addresses, rest, _ := strings.Cut(line, " ")
		from, to, ok := strings.Cut(addresses, "-")
		if !ok || !strings.HasSuffix(strings.TrimSuffix(rest, "\n"), " "+path) {
			continue
		}
		a, err := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err == nil && err2 == nil && b > a {
			n += int64(b - a)
		}
	}
	return n
}

// ReadBytes returns how many bytes this process has read from storage; 0 =
// unknown.
func ReadBytes() int64 {
	x := &storage
	x.Lock()
	defer x.Unlock()
	x.once.Do(func() { x.file, _ = os.Open("/proc/self/io") }) // open as long as the process
	if x.file == nil {
		return 0
	}
	n, err := x.file.ReadAt(x.text[:], 0)
	if err != nil && err != io.EOF {
		return 0
	}
	read, _ := numberAfter(x.text[:n], "read_bytes:")
	return read
}

// storage is what the system counts of this process's files. Reading it allocates
// nothing.
var storage struct {
	sync.Mutex
	once sync.Once
	file *os.File
	text [512]byte
}
