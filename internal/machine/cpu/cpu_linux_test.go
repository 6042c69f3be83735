package cpu

import (
	"slices"
	"testing"
	"testing/fstest"
)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }

func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want float64
	}{
		"none": {fstest.MapFS{}, 0},
		"v2 in a container": {fstest.MapFS{
			"proc/self/cgroup":      file("0::/"),
			"sys/fs/cgroup/cpu.max": file("150000 100000"),
		}, 1.5},
		"v2 unlimited": {fstest.MapFS{
			"proc/self/cgroup":      file("0::/"),
			"sys/fs/cgroup/cpu.max": file("max 100000"),
		}, 0},
		"v2 tightest of the path": {fstest.MapFS{
			"proc/self/cgroup":          file("0::/a/b"),
			"sys/fs/cgroup/a/cpu.max":   file("200000 100000"),
			"sys/fs/cgroup/a/b/cpu.max": file("400000 100000"),
		}, 2},
		"v1": {fstest.MapFS{
			"proc/self/cgroup":                       file("5:memory:/x\n4:cpu,cpuacct:/x"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":   file("50000"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us":  file("100000"),
			"sys/fs/cgroup/memory/cpu.cfs_quota_us":  file("1"),
			"sys/fs/cgroup/memory/cpu.cfs_period_us": file("1"),
		}, 0.5},
		"v1 unlimited": {fstest.MapFS{
			"proc/self/cgroup":                            file("4:cpu,cpuacct:/"),
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  file("-1"),
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": file("100000"),
		}, 0},
	} {
		if got := quota(c.fs); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestCores(t *testing.T) {
	fs := fstest.MapFS{}
	for p, siblings := range []string{"0,2", "1,3", "0,2", "1,3"} {
		fs["sys/devices/system/cpu/cpu"+string(rune('0'+p))+"/topology/thread_siblings_list"] = file(siblings)
	}
	all := func(int) bool { return true }
	if got := cores(fs, []int{0, 1, 2, 3}, all); got != 2 {
		t.Errorf("four threads of two cores: got %d", got)
	}
	if got := cores(fs, []int{0, 1, 2, 3}, func(p int) bool { return p == 2 }); got != 1 {
		t.Errorf("one allowed thread: got %d", got)
	}
}

func TestParseList(t *testing.T) {
	if got := parseList("0-2,5"); !slices.Equal(got, []int{0, 1, 2, 5}) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"", "x", "1-", "3-99999999999"} {
		if got := parseList(bad); got != nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}
