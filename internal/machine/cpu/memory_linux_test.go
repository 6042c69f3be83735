package cpu

import (
	"atenia/internal/golden/await"
	"errors"
	"os"
	"path/filepath"
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
		}, 400009},
		"v2 is slowed down before its limit": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/a"), "sys/fs/cgroup/a/memory.high": file("950000"),
			"sys/fs/cgroup/a/memory.max": file("1000000"), "sys/fs/cgroup/a/memory.current": file("900000"),
		}, 50000},
		"v2 with that alone": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/a"), "sys/fs/cgroup/a/memory.high": file("950000"),
			"sys/fs/cgroup/a/memory.max": file("max"), "sys/fs/cgroup/a/memory.current": file("900000"),
		}, 50000},
		"v2 over its limit": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("0::/"),
			"sys/fs/cgroup/memory.max": file("10"), "sys/fs/cgroup/memory.current": file("900000"),
		}, 0},
		"v1": {fstest.MapFS{
			"proc/meminfo": info, "proc/self/cgroup": file("5:cpu:/\n4:memory:/x"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("500000"),
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": file("100000"),
			"sys/fs/cgroup/memory/x/memory.stat":           file("inactive_file 1\ntotal_inactive_file 50000\ntotal_active_file 7"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes":   file("1"),
		}, 450007},
	} {
		r := openMemory(c.fs)
		if got := r.Read(); got.Available != c.want {
			t.Errorf("%s: got %+v, want %d available", name, got, c.want)
		}
		r.Close()
	}
}

func TestMemory(t *testing.T) {
	system := fstest.MapFS{
		"proc/meminfo":                                   file("MemTotal:       4000 kB\nMemFree:  1 kB\nMemAvailable:    2000 kB"),
		"proc/self/statm":                                file("900 300 100 5 0 9 0\n"),
		"proc/pressure/memory":                           file("some avg10=12.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=3.25 avg60=0.00 avg300=0.00 total=1"),
		"proc/self/cgroup":                               file("9:memory:/a/b\n0::/u"),
		"sys/fs/cgroup/unified/u/memory.max":             file("2500000"),
		"sys/fs/cgroup/unified/u/memory.current":         file("500000"),
		"sys/fs/cgroup/unified/u/memory.stat":            file("inactive_file 1000\ninactive_file_more 7"),
		"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   file("3000000"),
		"sys/fs/cgroup/memory/a/memory.usage_in_bytes":   file("1500000"),
		"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": file("9223372036854771712"),
		"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes": file("1"),
	}
	r := openMemory(system)
	defer r.Close()
	page := int64(os.Getpagesize())
	want := Memory{
		Total: 4000 << 10, Limit: 2500000, Available: 1500000, Stalls: Stalls{true, 12.5, 3.25},
		GroupLimit: 3000000, GroupAvailable: 1500000, Free: 2000 << 10, Own: 200 * page, Mapped: 100 * page,
	}
	if got := r.Read(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := await.Allocs(20, func() { r.Read() }); n != 0 {
		t.Errorf("%v allocations for a reading", n)
	}
}

// TestMemoryMoved: a process that is moved to another group has its limit.
func TestMemoryMoved(t *testing.T) {
	at := filepath.Join(t.TempDir(), "root")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(at, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for group, limit := range map[string]string{"a": "1000000", "b": "600000"} {
		write("sys/fs/cgroup/"+group+"/memory.max", limit)
		write("sys/fs/cgroup/"+group+"/memory.current", "100000")
	}
	write("proc/self/cgroup", "0::/a\n")
	r := openMemory(os.DirFS(at))
	defer r.Close()
	if m := r.Read(); m.GroupAvailable != 900000 {
		t.Errorf("at first: %+v", m)
	}
	write("proc/self/cgroup", "0::/b\n")
	if m := r.Read(); m.GroupAvailable != 500000 || m.GroupLimit != 600000 {
		t.Errorf("moved: %+v", m)
	}
}

// TestMemoryHere: the files of this machine make sense, and reading them again
// allocates nothing.
func TestMemoryHere(t *testing.T) {
	r := OpenMemory()
	defer r.Close()
	m := r.Read()
	if m.Total <= 0 || m.Limit <= 0 || m.Limit > m.Total || m.Available <= 0 || m.Available > m.Limit {
		t.Errorf("implausible: %+v", m)
	}
	if n := await.Allocs(5, func() { r.Read() }); n != 0 {
		t.Errorf("%v allocations for a reading", n)
	}
}

func FuzzNumberAfter(f *testing.F) {
	f.Add([]byte("MemTotal:  12 kB\nx 99999999999999999999\n"), "x")
	f.Add([]byte("some avg10=1e9 avg60"), "some avg10=")
	f.Fuzz(func(t *testing.T, text []byte, word string) {
		if n, ok := numberAfter(text, word); ok && n < 0 {
			t.Errorf("%d after %q", n, word)
		}
		if x, ok := floatAfter(text, word); ok && x < 0 {
			t.Errorf("%v after %q", x, word)
		}
	})
}

func BenchmarkMemoryRead(b *testing.B) {
	r := OpenMemory()
	defer r.Close()
	for b.Loop() {
		r.Read()
	}
}
