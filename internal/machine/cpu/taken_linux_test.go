package cpu

import (
	"testing"
	"testing/fstest"
	"time"
)

// TestTaken: what processors did that are not idle and do not wait for a disk, of those
// that may be used, and what all groups' quotas kept back.
func TestTaken(t *testing.T) {
	const stat = `cpu  100 200 300 400 500 600 700 800 900 1000
cpu0 1 20 300 4000 50000 6 7 8 100 200
cpu1 1000 0 0 0 0 0 0 0 0 0
cpu2 0 0 0 5 5 0 0 3 0 0
intr 1 2 3 4 5 6 7 8 9
`
	d, known := busyTime(stat, func(n int) bool { return n != 1 })
	if want := (1 + 20 + 300 + 6 + 7 + 8 + 3) * 10 * time.Millisecond; d != want || !known {
		t.Errorf("%v, known is %v, want %v", d, known, want)
	}
	for _, stat := range []string{"", "cpu 1 2 3 4 5 6 7 8 9 10\n", "cpu0 1 2 3\n"} {
		if d, known := busyTime(stat, func(int) bool { return true }); d != 0 || known {
			t.Errorf("%q: %v, known is %v", stat, d, known)
		}
	}
	for want, root := range map[time.Duration]fstest.MapFS{
		0: {},
		5 * time.Microsecond: {
			"proc/self/cgroup":         file("0::/a/b"),
			"sys/fs/cgroup/a/cpu.stat": file("usage_usec 9\nthrottled_usec 2"), "sys/fs/cgroup/a/b/cpu.stat": file("throttled_usec 3"),
		},
		7: {
			"proc/self/cgroup":             file("5:memory:/x\n4:cpu,cpuacct:/x"),
			"sys/fs/cgroup/cpu/x/cpu.stat": file("nr_throttled 4\nthrottled_time 7"),
		},
	} {
		if got := throttled(root); got != want {
			t.Errorf("%v: %v, want %v", root, got, want)
		}
	}
}
