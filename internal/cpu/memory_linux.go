package cpu

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// AvailableMemory returns how many bytes this process may still take without
// making the system swap or end it: what the system says is available, bounded
// by the control groups of the process. Pages of files that are only cached
// count as available. 0 = not known.
func AvailableMemory() int64 { return available(os.DirFS("/")) }

func available(root fs.FS) int64 {
	best := lineOf(read(root, "proc/meminfo"), "MemAvailable:") << 10
	groups(root, "memory", func(dir string) {
		if left, ok := groupMemory(root, dir); ok && (best == 0 || left < best) {
			best = left
		}
	})
	return best
}

// groupMemory returns what a control group may still take, and false where it
// has no limit. Its use counts cached files, of which the inactive ones go when
// memory is short.
func groupMemory(root fs.FS, dir string) (left int64, ok bool) {
	number := func(name string) (int64, bool) {
		n, err := strconv.ParseInt(read(root, path.Join(dir, name)), 10, 64)
		return n, err == nil
	}
	cached := "inactive_file"
	limit, ok := number("memory.max")
	used, ok2 := number("memory.current")
	if !ok { // version 1; "max" of version 2 is no number either
		cached = "total_inactive_file"
		limit, ok = number("memory.limit_in_bytes")
		used, ok2 = number("memory.usage_in_bytes")
	}
	if !ok || !ok2 || limit >= 1<<60 { // version 1 writes no limit as one of nearly 2^63
		return 0, false
	}
	return max(0, limit-used+lineOf(read(root, path.Join(dir, "memory.stat")), cached)), true
}

// lineOf returns the number after a word at the start of a line, or 0.
func lineOf(text, word string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == word {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
