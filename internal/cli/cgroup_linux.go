package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A controlGroup is a control group that bounds the memory of its processes.
type controlGroup struct{ dir, version string }

// newControlGroup makes a group below the one that this process is in.
func newControlGroup(limit int64) (*controlGroup, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	version, own := ownControlGroup(string(b))
	file := "memory.limit_in_bytes"
	switch version {
	case "v1":
		own = filepath.Join("/sys/fs/cgroup/memory", own)
	case "v2":
		own, file = filepath.Join("/sys/fs/cgroup", own), "memory.max"
	default:
		return nil, errors.New("this process is in no control group for memory")
	}
	g := &controlGroup{filepath.Join(own, fmt.Sprintf("atenia-%d-%d", os.Getpid(), time.Now().UnixNano())), version}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := g.set(file, limit); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	if version == "v2" {
		_ = g.set("memory.swap.max", 0) // absent where there is no swap
	}
	return g, nil
}

// ownControlGroup finds the group of /proc/self/cgroup that bounds memory.
func ownControlGroup(s string) (version, path string) {
	for line := range strings.Lines(s) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			if c == "memory" {
				return "v1", f[2]
			}
		}
		if f[0] == "0" && f[1] == "" {
			version, path = "v2", f[2]
		}
	}
	return version, path
}

func (g *controlGroup) set(file string, v int64) error {
	return os.WriteFile(filepath.Join(g.dir, file), strconv.AppendInt(nil, v, 10), 0)
}

// add moves a process into the group.
func (g *controlGroup) add(pid int) error { return g.set("cgroup.procs", int64(pid)) }

// remove removes the group once its processes have ended.
func (g *controlGroup) remove() (err error) {
	for range 50 {
		if err = os.Remove(g.dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// lru says which pages the system takes back first.
func lru() string {
	b, err := os.ReadFile("/sys/kernel/mm/lru_gen/enabled")
	if err != nil || strings.TrimSpace(string(b)) == "0x0000" {
		return "classic LRU"
	}
	return "MGLRU " + strings.TrimSpace(string(b))
}
