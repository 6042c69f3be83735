package cpu

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func (i *Info) system() {
	root := os.DirFS("/")
	var set unix.CPUSet
	allowed := func(int) bool { return true }
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		i.Allowed = set.Count()
		allowed = set.IsSet
	}
	if online := parseList(read(root, "sys/devices/system/cpu/online")); len(online) > 0 {
		i.Logical = len(online)
		i.Physical = cores(root, online, func(int) bool { return true })
		i.Cores = cores(root, online, allowed)
	}
	i.Quota = quota(root)
	for index := range 8 {
		i.cache(root, "sys/devices/system/cpu/cpu0/cache/index"+strconv.Itoa(index))
	}
}

// cores counts the groups of processors that share a core and contain an allowed
// one. A processor without topology files counts as a core.
func cores(root fs.FS, online []int, allowed func(int) bool) int {
	seen := map[string]bool{}
	for _, p := range online {
		if !allowed(p) {
			continue
		}
		siblings := read(root, "sys/devices/system/cpu/cpu"+strconv.Itoa(p)+"/topology/thread_siblings_list")
		if siblings == "" {
			siblings = strconv.Itoa(p)
		}
		seen[siblings] = true
	}
	return len(seen)
}

// cache reads the size of one cache of the first processor.
func (i *Info) cache(root fs.FS, dir string) {
	size, err := strconv.Atoi(strings.TrimSuffix(read(root, dir+"/size"), "K"))
	if err != nil || read(root, dir+"/type") == "Instruction" {
		return
	}
	switch read(root, dir+"/level") {
	case "1":
		i.L1 = size << 10
	case "2":
		i.L2 = size << 10
	case "3":
		i.L3 = size << 10
	}
}

// quota returns the tightest limit of this process's control groups, in
// processors, or 0. Version 2 has "quota period" in cpu.max, version 1 two
// files.
func quota(root fs.FS) float64 {
	best := 0.0
	controlGroups(root, "cpu", func(dir string) {
		if q := groupQuota(root, dir); q > 0 && (best == 0 || q < best) {
			best = q
		}
	})
	return best
}

// controlGroups calls f with the directory of each control group of this process for
// the controller, from its own up to the root, or only with the root if the
// group's path is not visible, as in a container.
func controlGroups(root fs.FS, controller string, f func(dir string)) {
	for line := range strings.Lines(read(root, "proc/self/cgroup") + "\n") {
		id, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 {
			continue
		}
		mount := "sys/fs/cgroup"
		if _, err := fs.Stat(root, mount+"/unified"); err == nil { // both versions are mounted
			mount += "/unified"
		}
		if id != "0" || controllers != "" {
			if !slices.Contains(strings.Split(controllers, ","), controller) {
				continue
			}
			mount = "sys/fs/cgroup/" + controller
			if _, err := fs.Stat(root, mount); err != nil {
				mount = "sys/fs/cgroup/" + controllers
			}
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			f(path.Join(mount, group))
			if group == "/" {
				break
			}
		}
	}
}

func groupQuota(root fs.FS, dir string) float64 {
	text := read(root, dir+"/cpu.max")
	if text == "" {
		text = read(root, dir+"/cpu.cfs_quota_us") + " " + read(root, dir+"/cpu.cfs_period_us")
	}
	f := strings.Fields(text)
	if len(f) != 2 {
		return 0
	}
	q, err := strconv.ParseFloat(f[0], 64) // "max" and -1 mean no limit
	p, err2 := strconv.ParseFloat(f[1], 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// parseList reads "0-3,8,10-11".
func parseList(s string) (list []int) {
	const most = 1 << 16 // more processors than any kernel supports
	for part := range strings.SplitSeq(s, ",") {
		a, b, ranged := strings.Cut(part, "-")
		lo, err := strconv.Atoi(a)
		hi := lo
		if ranged && err == nil {
			hi, err = strconv.Atoi(b)
		}
		if err != nil || lo < 0 || hi >= most {
			return nil
		}
		for p := lo; p <= hi && len(list) < most; p++ {
			list = append(list, p)
		}
	}
	return list
}

// read returns a small file without surrounding space; "" on error.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
