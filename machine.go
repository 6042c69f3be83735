package atenia

import (
	"context"

	"atenia/internal/machine/hw"
	"atenia/internal/memory/cuda"
	"atenia/place"
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

// Hardware examines the machine as it is now. Use it to choose a [Budget], or to
// show a user what Warnings says: each is something that costs speed or will fail,
// and what to do about it.
//
// MemoryBytes respects the limits of control groups, so in a container it is what
// the container may use. Only measuring and the end of ctx cause errors; the
// place.Machine is then returned as well, as far as it is known.
func Hardware(ctx context.Context, c *HardwareConfig) (*place.Machine, error) {
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
	m := &place.Machine{
		ID: d.Machine(), Processor: d.Processor.Name, Arch: d.Processor.Arch, Cores: d.Processor.Cores, Threads: d.Processor.Threads,
		MemoryBytes: known(d.Memory.LimitBytes), AvailableBytes: known(d.Memory.AvailableBytes), Pressure: known(s.Pressure.RAM),
	}
	for i := range d.Devices {
		m.Devices = append(m.Devices, newDevice(&d.Devices[i]))
	}
	for _, u := range d.Unused {
		m.Unused = append(m.Unused, u.Name)
	}
	if d.Storage != nil {
		m.Storage = newStorage(d.Storage)
	}
	for _, w := range d.Warnings {
		m.Warnings = append(m.Warnings, w.Text)
	}
	return m, err
}

func newDevice(d *hw.Device) place.Device {
	v := place.Device{ID: d.ID, Name: d.Name, Driver: d.Driver, MemoryBytes: known(d.VRAMTotalBytes), FreeBytes: known(d.VRAMFreeBytes)}
	if v.MemoryBytes > 0 && d.VRAMFreeBytes != nil {
		v.Pressure = 1 - float32(float64(v.FreeBytes)/float64(v.MemoryBytes))
	}
	return v
}

func newStorage(d *hw.Storage) *place.Storage {
	s := &place.Storage{Dir: d.Dir, Filesystem: d.Filesystem, Kind: string(d.Kind), FreeBytes: known(d.FreeBytes)}
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
