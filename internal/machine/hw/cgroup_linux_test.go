package hw

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	groupVariable = "ATENIA_HW_GROUP" // the control group that a child of the test enters
	groupLimit    = 256 << 20
	groupLocked   = 64 << 20
)

// TestControlGroup: in a memory control group of this machine the limit is the
// group's, and memory that is taken raises the pressure by its share.
func TestControlGroup(t *testing.T) {
	if group := os.Getenv(groupVariable); group != "" {
		inGroup(t, group)
		return
	}
	group := filepath.Join(memoryGroup(t), fmt.Sprintf("atenia-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o777); err != nil {
		t.Skip("no control groups may be made here: ", err)
	}
	defer os.Remove(group)
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), fmt.Append(nil, groupLimit), 0o666); err != nil {
		t.Skip("no limits may be set here: ", err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestControlGroup$", "-test.v")
	c.Env = append(os.Environ(), groupVariable+"="+group)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var before, after Snapshot
	for line := range strings.Lines(string(out)) {
		for prefix, s := range map[string]*Snapshot{"before ": &before, "after ": &after} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				if err := json.Unmarshal([]byte(text), s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if before.RAM.TotalBytes == nil || after.Pressure.RAM == nil {
		t.Fatalf("the child said %s", out)
	}
	if got := *before.RAM.TotalBytes; got != groupLimit {
		t.Errorf("limit %d, want %d", got, groupLimit)
	}
	// Stalls of a busy machine lift the pressure itself above its share.
	share := func(s *Snapshot) float64 { return 1 - float64(*s.RAM.FreeBytes)/float64(*s.RAM.TotalBytes) }
	if want := float64(groupLocked) / groupLimit; math.Abs(share(&after)-share(&before)-want) > .02 {
		t.Errorf("use went from %v to %v, want %v more", share(&before), share(&after), want)
	}
	if got := float64(*after.Pressure.RAM); got < share(&after)-.001 {
		t.Errorf("pressure %v below the use of %v", got, share(&after))
	}
}

// memoryGroup returns the folder of the test's own group of version 1.
func memoryGroup(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if _, group, ok := strings.Cut(strings.TrimSpace(line), ":memory:"); ok {
			return filepath.Join("/sys/fs/cgroup/memory", group)
		}
	}
	t.Skip("memory is not a controller of version 1 here")
	return ""
}

// inGroup is what the child does.
func inGroup(t *testing.T, group string) {
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0o666); err != nil {
		t.Fatal(err)
	}
	probe := func(when string) {
		s, _, err := Probe(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s %s\n", when, b)
	}
	probe("before")
	m, err := unix.Mmap(-1, 0, groupLocked, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(m); i += 4096 {
		m[i] = 1
	}
	if err := unix.Mlock(m); err != nil {
		t.Log("not locked: ", err) // it is there all the same: the group does not swap
	}
	probe("after")
	if err := unix.Munmap(m); err != nil {
		t.Error(err)
	}
}
