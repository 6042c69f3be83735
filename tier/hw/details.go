package hw

import "fmt"

// Details are what a person wants to know of a machine besides the
// [Snapshot].
type Details struct {
	Processor Processor `json:"processor"`
	Memory    Memory    `json:"memory"`
	Storage   *Storage  `json:"storage,omitempty"`
	Devices   []Device  `json:"devices,omitempty"`
	Warnings  []Warning `json:"warnings,omitempty"`
}

// A Processor is this process's share of the processors.
type Processor struct {
	Name    string  `json:"name"`
	Arch    string  `json:"arch"`
	Cores   int     `json:"cores"`      // physical ones that the process may run on
	Allowed int     `json:"processors"` // that it may run on
	Quota   float64 `json:"quota"`      // processors' worth of time, 0 without a limit
	Threads int     `json:"threads"`    // that compute fastest
	L1      int     `json:"l1_bytes"`   // data cache of a core, 0 if unknown
	L2      int     `json:"l2_bytes"`
	L3      int     `json:"l3_bytes"`
}

// Memory is the memory of the host. Absent is not zero.
type Memory struct {
	MachineBytes   *uint64  `json:"machine_bytes,omitempty"`
	LimitBytes     *uint64  `json:"limit_bytes,omitempty"` // the least of that and of all control groups
	AvailableBytes *uint64  `json:"available_bytes,omitempty"`
	LockableBytes  *uint64  `json:"lockable_bytes,omitempty"`     // absent: no limit, or unknown
	StallSome      *float32 `json:"stall_some_percent,omitempty"` // of the last ten seconds a task waited for memory
	StallFull      *float32 `json:"stall_full_percent,omitempty"` // of the last ten seconds all tasks did
	PageReporting  bool     `json:"page_reporting"`               // freed memory goes back to a host
}

// Storage is what is below a cache folder.
type Storage struct {
	Dir        string      `json:"dir"`
	Mount      string      `json:"mount,omitempty"`
	Filesystem string      `json:"filesystem,omitempty"`
	Device     string      `json:"device"` // what profiles are kept under
	Kind       StorageKind `json:"kind"`
	FreeBytes  *uint64     `json:"free_bytes,omitempty"`
	Profile    *Profile    `json:"profile,omitempty"`
	Measured   bool        `json:"measured"` // the profile is new, not one that was kept
}

// A StorageKind is what kind of storage a folder is on.
type StorageKind string

// The kinds of storage.
const (
	Solid    StorageKind = "ssd"
	Virtual  StorageKind = "virtual disk" // what is below it is the host's secret
	Rotating StorageKind = "hdd"
	InMemory StorageKind = "memory"
	Network  StorageKind = "network"
	Unknown  StorageKind = "unknown storage"
)

// storageWarnings say why a kind of storage is a bad place for a cache.
var storageWarnings = map[StorageKind]string{
	Rotating: "it reads at a tenth of the speed of an SSD, and scattered reads far slower; choose another folder with --cache-dir",
	InMemory: "what is moved there still takes memory; choose a folder on an SSD with --cache-dir",
	Network:  "reads take the network, and others' load; choose a folder on a local SSD with --cache-dir",
}

// A Device is a GPU and what its driver says of it at this moment.
type Device struct {
	GPU
	Name          string   `json:"name"`
	Driver        string   `json:"driver,omitempty"`
	Compute       string   `json:"compute_capability,omitempty"`
	Utilization   *uint32  `json:"utilization_percent,omitempty"`
	Temperature   *uint32  `json:"temperature_celsius,omitempty"`
	LinkGen       *uint32  `json:"pcie_generation,omitempty"` // the link as it is now; it falls while idle
	LinkWidth     *uint32  `json:"pcie_width,omitempty"`
	LinkMaxGen    *uint32  `json:"pcie_max_generation,omitempty"`
	LinkMaxWidth  *uint32  `json:"pcie_max_width,omitempty"`
	UploadBytes   *float64 `json:"upload_bytes_per_second,omitempty"` // measured, through pinned memory
	DownloadBytes *float64 `json:"download_bytes_per_second,omitempty"`
	Tried         bool     `json:"tried"`           // bytes were sent there and back
	Fault         string   `json:"fault,omitempty"` // what went wrong then
}

// A Warning is something about the machine that costs speed or will fail, and
// what to do about it.
type Warning struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (d *Details) warn(id, text string) { d.Warnings = append(d.Warnings, Warning{id, text}) }

// size prints bytes for people.
func size(n uint64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<u.shift {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(uint64(1)<<u.shift), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
