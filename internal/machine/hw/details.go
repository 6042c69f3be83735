package hw

import "fmt"

// Details describe a machine for people, beyond what a [Snapshot] holds.
type Details struct {
	Processor Processor `json:"processor"`
	Memory    Memory    `json:"memory"`
	Storage   *Storage  `json:"storage,omitempty"`
	Nodes     []Node    `json:"numa_nodes,omitempty"`
	Devices   []Device  `json:"devices,omitempty"`
	Unused    []Unused  `json:"unused_devices,omitempty"`
	Warnings  []Warning `json:"warnings,omitempty"`
}

// A Processor is the share of the processors that this process may use.
type Processor struct {
	Name    string  `json:"name"`
	Arch    string  `json:"arch"`
	Cores   int     `json:"cores"`      // physical cores in the affinity mask
	Allowed int     `json:"processors"` // logical processors in the affinity mask
	Quota   float64 `json:"quota"`      // CPU time in processors, 0 if unlimited
	Threads int     `json:"threads"`    // number that computes fastest
	L1      int     `json:"l1_bytes"`   // data cache of one core, 0 if unknown
	L2      int     `json:"l2_bytes"`
	L3      int     `json:"l3_bytes"`
}

// Memory describes the memory of the host. Nil is unknown, not zero.
type Memory struct {
	MachineBytes   *uint64  `json:"machine_bytes,omitempty"`
	LimitBytes     *uint64  `json:"limit_bytes,omitempty"` // the smallest of the total and the limits of all control groups
	AvailableBytes *uint64  `json:"available_bytes,omitempty"`
	LockableBytes  *uint64  `json:"lockable_bytes,omitempty"`     // nil: unlimited or unknown
	StallSome      *float32 `json:"stall_some_percent,omitempty"` // share of the last ten seconds in which some task waited for memory
	StallFull      *float32 `json:"stall_full_percent,omitempty"` // share of the last ten seconds in which all tasks did
	Stalls         []Stall  `json:"stalls,omitempty"`             // likewise of longer times, as far as the system keeps them
	PageReporting  bool     `json:"page_reporting"`               // the guest returns freed pages to its host
}

// Storage describes the storage below a cache directory.
type Storage struct {
	Dir        string      `json:"dir"`
	Mount      string      `json:"mount,omitempty"`
	Filesystem string      `json:"filesystem,omitempty"`
	Device     string      `json:"device"` // key under which profiles are kept
	Kind       StorageKind `json:"kind"`
	FreeBytes  *uint64     `json:"free_bytes,omitempty"`
	Profile    *Profile    `json:"profile,omitempty"`
	Measured   bool        `json:"measured"` // the profile was measured now, not read from the file
}

// A StorageKind is the kind of storage that a directory is on.
type StorageKind string

// The kinds of storage.
const (
	solid    StorageKind = "ssd"
	virtual  StorageKind = "virtual disk" // the host's storage below it is unknown
	rotating StorageKind = "hdd"
	inMemory StorageKind = "memory"
	network  StorageKind = "network"
	unknown  StorageKind = "unknown storage"
)

// storageWarnings says why a kind of storage is unsuitable for a cache.
var storageWarnings = map[StorageKind]string{
	rotating: "it reads at a tenth of the speed of an SSD, and scattered reads far slower; choose another folder with --cache-dir",
	inMemory: "what is moved there still takes memory; choose a folder on an SSD with --cache-dir",
	network:  "reads take the network, and others' load; choose a folder on a local SSD with --cache-dir",
}

// A Device is a GPU with the current state reported by its driver.
type Device struct {
	GPU
	Name          string   `json:"name"`
	Driver        string   `json:"driver,omitempty"`
	Compute       string   `json:"compute_capability,omitempty"`
	Utilization   *uint32  `json:"utilization_percent,omitempty"`
	Temperature   *uint32  `json:"temperature_celsius,omitempty"`
	LinkGen       *uint32  `json:"pcie_generation,omitempty"` // current link generation; drops while idle
	LinkWidth     *uint32  `json:"pcie_width,omitempty"`
	LinkMaxGen    *uint32  `json:"pcie_max_generation,omitempty"`
	LinkMaxWidth  *uint32  `json:"pcie_max_width,omitempty"`
	UploadBytes   *float64 `json:"upload_bytes_per_second,omitempty"` // measured with pinned memory
	DownloadBytes *float64 `json:"download_bytes_per_second,omitempty"`
	Tried         bool     `json:"tried"`           // a copy to the device and back was attempted
	Fault         string   `json:"fault,omitempty"` // why the attempt failed

	Calls Reliability `json:"calls"` // of its driver, while it was examined
}

// A Warning is a property of the machine that costs speed or will cause
// failures, with a remedy.
type Warning struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (d *Details) warn(id, text string) { d.Warnings = append(d.Warnings, Warning{id, text}) }

// size formats bytes for people.
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
