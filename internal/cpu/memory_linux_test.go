package cpu

import (
	"testing"
	"testing/fstest"
)

func TestAvailableMemory(t *testing.T) {
	info := file("MemTotal: 4000 kB\nMemAvailable:    2000 kB")
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want int64
	}{
		"nothing known": {fstest.MapFS{}, 0},
		"no group":      {fstest.MapFS{"proc/meminfo": info}, 2000 << 10},
		"v2 without a limit": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/a"),
			"sys/fs/cgroup/a/memory.max": file("max"), "sys/fs/cgroup/a/memory.current": file("5"),
		}, 2000 << 10},
		"v2 cached files may go": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/a/b"),
			"sys/fs/cgroup/a/memory.max": file("1000000"), "sys/fs/cgroup/a/memory.current": file("900000"),
			"sys/fs/cgroup/a/memory.stat": file("anon 7\ninactive_file 300000\nactive_file 9"),
		}, 400000},
		"v2 over its limit": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/"),
			"sys/fs/cgroup/memory.max": file("10"), "sys/fs/cgroup/memory.current": file("900000"),
		}, 0},
		"v1": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("5:cpu:/\n4:memory:/x"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("500000"),
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": file("100000"),
			"sys/fs/cgroup/memory/x/memory.stat":           file("inactive_file 1\ntotal_inactive_file 50000"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes":   file("1"),
		}, 450000},
	} {
		if got := available(c.fs); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
