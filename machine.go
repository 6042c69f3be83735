package atenia

import (
	"context"

	"atenia/internal/machine/hw"
	"atenia/internal/memory/cuda"
)

// A HardwareConfig chooses what [Hardware] examines. The zero value reports
// processor, memory and devices, and measures nothing.
type HardwareConfig struct {
	// CacheDir is a folder whose storage is examined, such as that of the models.
	// "" = none.
	CacheDir string
	// Measure says how long the storage, and with "full" the links to devices,
	// may be measured: "none"; "quick", as measured within the last 30 days or
	// else for about a second; "full", for some seconds. "" = none.
	Measure string
}

// A Machine is what [Hardware] found. Numbers that are not known are 0.
type Machine struct {
	ID        string // equal for equal processors, cores and sizes of memory
	Processor string // its name
	Arch      string
	Cores     int // physical ones that the process may run on
	Threads   int // that compute fastest

	MemoryBytes    uint64  // within the limits that are put on the process
	AvailableBytes uint64  // of it that may still be taken
	Pressure       float32 // part of the memory that is taken, 0 to 1

	Devices  []Device
	Storage  *Storage // of HardwareConfig.CacheDir; nil without one
	Warnings []string // what costs speed or will fail, and what to do about it
}

// A Device is a GPU.
type Device struct {
	ID     string
	Name   string
	Driver string
	// MemoryBytes is its memory, FreeBytes what of it is not taken.
	MemoryBytes, FreeBytes uint64
	// Pressure is the part of its memory that is taken, 0 to 1.
	Pressure float32
}

// Storage is what a folder lies on. Rates are 0 unless they were measured.
type Storage struct {
	Dir        string
	Filesystem string
	Kind       string // "ssd", "hdd", "virtual disk", "memory", "network" or "unknown storage"
	FreeBytes  uint64
	ReadBytes  float64 // a second, in sequence
	WriteBytes float64 // a second, until it is on the device
	Latency    float64 // seconds of a small read, mean
}

// Hardware examines the machine as it is now. Use it to choose a [Budget], or to
// show a user what Warnings says: each is something that costs speed or will fail,
// and what to do about it.
//
// MemoryBytes respects the limits of control groups, so in a container it is what
// the container may use. Only measuring and the end of ctx cause errors; the
// Machine is then returned as well, as far as it is known.
func Hardware(ctx context.Context, c *HardwareConfig) (*Machine, error) {
	if c == nil {
		c = &HardwareConfig{}
	}
	o := hw.Options{CacheDir: c.CacheDir, GPUs: cuda.Prober{}}
	if c.Measure != "" {
		if err := o.Depth.UnmarshalText([]byte(c.Measure)); err != nil {
			return nil, &ConfigError{"Measure", c.Measure, "none, quick or full"}
		}
	}
	s, d, err := hw.Probe(ctx, o)
	m := &Machine{
		ID: d.Machine(), Processor: d.Processor.Name, Arch: d.Processor.Arch, Cores: d.Processor.Cores, Threads: d.Processor.Threads,
		MemoryBytes: known(d.Memory.LimitBytes), AvailableBytes: known(d.Memory.AvailableBytes), Pressure: known(s.Pressure.RAM),
	}
	for i := range d.Devices {
		m.Devices = append(m.Devices, newDevice(&d.Devices[i]))
	}
	if d.Storage != nil {
		m.Storage = newStorage(d.Storage)
	}
	for _, w := range d.Warnings {
		m.Warnings = append(m.Warnings, w.Text)
	}
	return m, err
}

func newDevice(d *hw.Device) Device {
	v := Device{ID: d.ID, Name: d.Name, Driver: d.Driver, MemoryBytes: known(d.VRAMTotalBytes), FreeBytes: known(d.VRAMFreeBytes)}
	if v.MemoryBytes > 0 && d.VRAMFreeBytes != nil {
		v.Pressure = 1 - float32(float64(v.FreeBytes)/float64(v.MemoryBytes))
	}
	return v
}

func newStorage(d *hw.Storage) *Storage {
	s := &Storage{Dir: d.Dir, Filesystem: d.Filesystem, Kind: string(d.Kind), FreeBytes: known(d.FreeBytes)}
	if p := d.Profile; p != nil {
		s.ReadBytes, s.WriteBytes, s.Latency = p.ReadBytes, p.WriteBytes, p.LatencySeconds
	}
	return s
}

// known returns a value, or 0 where it is not known.
func known[T any](v *T) (known T) {
	if v != nil {
		known = *v
	}
	return known
}
