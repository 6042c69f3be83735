package hw

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// bytesOf is a number of bytes that is known.
func bytesOf(n uint64) *uint64 { return &n }

// TestNodes: nodes are listed by number with their processors and memory, whatever else the
// folder has, and what is not told stays unknown.
func TestNodes(t *testing.T) {
	const dir = "sys/devices/system/node/"
	root := fstest.MapFS{
		dir + "node10/cpulist": file("8-15"), dir + "node2/cpulist": file("0-7"), dir + "node2x/cpulist": file("1"), dir + "node02/cpulist": file("1"), dir + "online": file("2,10"),
		dir + "node2/meminfo":  file("Node 2 MemTotal:       1024 kB\nNode 2 MemFree:         512 kB"),
		dir + "node10/meminfo": file("Node 10 MemTotal: many kB"),
	}
	got := nodes(root)
	if len(got) != 2 || got[0].ID != 2 || got[0].Processors != "0-7" || *got[0].MemoryBytes != 1<<20 || *got[0].FreeBytes != 512<<10 || got[1].ID != 10 || got[1].MemoryBytes != nil {
		t.Errorf("%+v", got)
	}
	if nodes(fstest.MapFS{}) != nil {
		t.Error("nodes of nothing")
	}
	d := Details{Nodes: got[:1]}
	var b strings.Builder
	if d.printAround(&b); b.Len() > 0 {
		t.Errorf("one node alone is told: %s", &b)
	}
	d.Nodes = []Node{got[0], {ID: 3, Processors: "8", MemoryBytes: bytesOf(2 << 20), FreeBytes: bytesOf(1 << 20)}}
	if d.printAround(&b); b.String() != "NUMA node 2\tprocessors 0-7, 512.0 KiB free of 1.0 MiB\nNUMA node 3\tprocessors 8, 1.0 MiB free of 2.0 MiB\n" {
		t.Errorf("%s", &b)
	}
}

// TestStalls: averages are those of the system, and of a text that is none there are none.
func TestStalls(t *testing.T) {
	root := fstest.MapFS{"proc/pressure/memory": file("some avg10=12.50 avg60=1.00 avg300=0.25 total=1\nfull avg10=3.25 avg60=0.50 avg300=0.00 total=1")}
	if got, want := stalls(root), []Stall{{10, 12.5, 3.25}, {60, 1, 0.5}, {300, 0.25, 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, s := range []string{"", "some avg10=1 avg60=1 avg300=1", "some avg10=x avg60= avg300=200\nfull avg10=1 avg60=1 avg300=1"} {
		if got := stalls(fstest.MapFS{"proc/pressure/memory": file(s)}); got != nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestUnused: GPUs that nothing computes on are named, with what their drivers tell; those of
// NVIDIA where no driver answers; and no other card.
func TestUnused(t *testing.T) {
	const dir = "sys/class/drm/card"
	root := fstest.MapFS{
		dir + "0/device/uevent":              file("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C"),
		dir + "0/device/mem_info_vram_total": file("17163091968"),
		dir + "0-HDMI-A-1/status":            file("connected"),
		dir + "1/device/uevent":              file("DRIVER=i915\nPCI_ID=8086:56A0"),
		dir + "2/device/uevent":              file("DRIVER=nvidia\nPCI_ID=10DE:2330"),
		dir + "3/device/uevent":              file("DRIVER=bochs-drm\nPCI_ID=1234:1111"),
		dir + "4/device/uevent":              file("DRIVER=asahi\nOF_NAME=gpu"),
	}
	d := Details{Unused: unused(root, "linux", "amd64", nil)}
	var b strings.Builder
	d.printAround(&b)
	want := "device\tAMD GPU 1002:744c, 16.0 GiB, driver amdgpu: nothing computes on it\ndevice\tIntel GPU 8086:56a0, driver i915: nothing computes on it\n" +
		"device\tNVIDIA GPU 10de:2330, driver nvidia: nothing computes on it\ndevice\tApple GPU, driver asahi: nothing computes on it\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	if got := unused(root, "linux", "amd64", []Device{{}}); len(got) != 3 {
		t.Errorf("beside a device that computes: %+v", got)
	}
	if got := unused(fstest.MapFS{}, "darwin", "arm64", nil); len(got) != 1 || got[0].Name != "Apple GPU" {
		t.Errorf("%+v", got)
	}
	if got := unused(fstest.MapFS{}, "darwin", "amd64", nil); got != nil {
		t.Errorf("%+v", got)
	}
}
