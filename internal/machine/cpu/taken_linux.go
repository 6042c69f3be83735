package cpu

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userTick is the unit of /proc/stat, the same on every architecture of Linux.
const userTick = time.Second / 100

// Taken returns how long the processors that this process may use were another
// program's, all together, with what the host of a virtual machine took and a quota kept
// back, and whether the system counts it. More than that no thread of the process can
// have lost to others; what else it waited for a processor, it waited for its own. Two
// results are compared, and their difference is right to some hundredths of a second.
func Taken() (d time.Duration, known bool) {
	allowed := func(int) bool { return true }
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		allowed = set.IsSet
	}
	root := os.DirFS("/")
	busy, known := busyTime(read(root, "proc/stat"), allowed)
	return busy - Time() + throttled(root), known
}

// busyTime returns how long processors were used, or taken from a virtual machine.
func busyTime(stat string, allowed func(int) bool) (d time.Duration, known bool) {
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) < 9 {
			continue
		}
		number, ok := strings.CutPrefix(f[0], "cpu")
		if n, err := strconv.Atoi(number); !ok || err != nil || !allowed(n) {
			continue // "cpu" without a number is the sum
		}
		known = true
		for i, s := range f[1:9] { // user, nice, system, idle, waiting, interrupts (two kinds), stolen; guests are in user
			if ticks, err := strconv.ParseInt(s, 10, 64); err == nil && i != 3 && i != 4 {
				d += time.Duration(ticks) * userTick
			}
		}
	}
	return d, known
}

// throttled returns how long quotas of control groups kept processors back.
func throttled(root fs.FS) (d time.Duration) {
	controlGroups(root, "cpu", func(dir string) {
		for line := range strings.Lines(read(root, dir+"/cpu.stat")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil:
			case name == "throttled_usec": // version 2
				d += time.Duration(n) * time.Microsecond
			case name == "throttled_time": // version 1
				d += time.Duration(n)
			}
		}
	})
	return d
}
