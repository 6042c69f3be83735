package hw

import (
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Node is memory that some processors are nearer to than the others, as Linux numbers it.
type Node struct {
	ID          int     `json:"id"`
	Processors  string  `json:"processors"` // such as "0-7,16-23"
	MemoryBytes *uint64 `json:"memory_bytes,omitempty"`
	FreeBytes   *uint64 `json:"free_bytes,omitempty"`
}

// A Stall is the part of the last seconds in which some task, or all, waited for memory.
type Stall struct {
	Seconds int     `json:"seconds"`
	Some    float32 `json:"some_percent"`
	Full    float32 `json:"full_percent"`
}

// An Unused device is a GPU on which nothing computes.
type Unused struct {
	Name        string  `json:"name"` // such as "AMD GPU 1002:744c"
	Driver      string  `json:"driver,omitempty"`
	MemoryBytes *uint64 `json:"memory_bytes,omitempty"`
}

// read returns a small file of the system without the space around, "" if there is none.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// listSys returns the entries of a folder whose names are a prefix and a number, by number.
func listSys(root fs.FS, dir, prefix string) (ids []int) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if id, err := strconv.Atoi(rest); ok && err == nil && id >= 0 && strconv.Itoa(id) == rest {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// valueOf returns what follows a key in a text of lines, up to the line's end.
func valueOf(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		if _, v, ok := strings.Cut(line, key); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// nodes lists the nodes of memory; none where the system does not tell.
func nodes(root fs.FS) (out []Node) {
	const dir = "sys/devices/system/node"
	for _, id := range listSys(root, dir, "node") {
		at := fmt.Sprintf("%s/node%d/", dir, id)
		n := Node{ID: id, Processors: read(root, at+"cpulist")}
		info := read(root, at+"meminfo")
		n.MemoryBytes, n.FreeBytes = kilobytes(info, "MemTotal:"), kilobytes(info, "MemFree:")
		out = append(out, n)
	}
	return out
}

func kilobytes(text, key string) *uint64 {
	v, _ := valueOf(text, key)
	n, err := strconv.ParseUint(strings.TrimSuffix(v, " kB"), 10, 54)
	if err != nil {
		return nil
	}
	n <<= 10
	return &n
}

// stalls returns the averages that Linux keeps of waits for memory, shortest first.
func stalls(root fs.FS) (out []Stall) {
	text := read(root, "proc/pressure/memory")
	some, _ := valueOf(text, "some ")
	full, _ := valueOf(text, "full ")
	for _, seconds := range []int{10, 60, 300} {
		s, ok := average(some, seconds)
		f, ok2 := average(full, seconds)
		if ok && ok2 {
			out = append(out, Stall{seconds, s, f})
		}
	}
	return out
}

func average(line string, seconds int) (float32, bool) {
	_, v, ok := strings.Cut(line, fmt.Sprintf("avg%d=", seconds))
	v, _, _ = strings.Cut(v, " ")
	n, err := strconv.ParseFloat(v, 32)
	return float32(n), ok && err == nil && n >= 0 && n <= 100
}

// makers are those of GPUs, by their numbers.
var makers = map[string]string{"1002": "AMD", "8086": "Intel", "10DE": "NVIDIA"}

// unused lists the GPUs that the system has, of which the given ones compute: for those of
// NVIDIA a driver answers, if it is there.
func unused(root fs.FS, system, arch string, devices []Device) (out []Unused) {
	if system == "darwin" && arch == "arm64" {
		return []Unused{{Name: "Apple GPU"}}
	}
	for _, id := range listSys(root, "sys/class/drm", "card") {
		at := fmt.Sprintf("sys/class/drm/card%d/device/", id)
		event := read(root, at+"uevent")
		driver, _ := valueOf(event, "DRIVER=")
		number, _ := valueOf(event, "PCI_ID=")
		maker, _, _ := strings.Cut(number, ":")
		u := Unused{Driver: driver}
		switch name := makers[strings.ToUpper(maker)]; {
		case driver == "asahi":
			u.Name = "Apple GPU"
		case name == "" || name == "NVIDIA" && len(devices) > 0:
			continue
		default:
			u.Name = name + " GPU " + strings.ToLower(number)
		}
		if n, err := strconv.ParseUint(read(root, at+"mem_info_vram_total"), 10, 64); err == nil {
			u.MemoryBytes = &n
		}
		out = append(out, u)
	}
	return out
}

// lookAround adds what /sys and /proc tell beside.
func (p prober) lookAround(d *Details) {
	d.Nodes, d.Memory.Stalls = nodes(p.root), stalls(p.root)
	d.Unused = unused(p.root, runtime.GOOS, runtime.GOARCH, d.Devices)
}

// printAround writes a node where there are others, and what nothing computes on.
func (d *Details) printAround(w io.Writer) {
	for _, n := range d.Nodes {
		if len(d.Nodes) > 1 && n.MemoryBytes != nil && n.FreeBytes != nil {
			fmt.Fprintf(w, "NUMA node %d\tprocessors %s, %s free of %s\n", n.ID, n.Processors, size(*n.FreeBytes), size(*n.MemoryBytes))
		}
	}
	for _, u := range d.Unused {
		line := u.Name
		if u.MemoryBytes != nil {
			line += ", " + size(*u.MemoryBytes)
		}
		if u.Driver != "" {
			line += ", driver " + u.Driver
		}
		fmt.Fprintf(w, "device\t%s: nothing computes on it\n", line)
	}
}
