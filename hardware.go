package atenia

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"atenia/internal/cpu"
	"atenia/internal/cuda"
	"atenia/internal/roof"
	"atenia/tier/hw"
)

// A HardwareConfig says what [Hardware] looks at. The zero value looks at
// processor, memory and devices, and measures nothing.
type HardwareConfig struct {
	CacheDir string   // the folder whose storage is looked at; "" = none
	Depth    hw.Depth // how much may be measured
}

// Hardware looks at the machine: what decisions about placement work with, and
// what people want to know. Even with an error, which only measuring and ctx
// can give, both are there.
func Hardware(ctx context.Context, cfg *HardwareConfig) (*hw.Snapshot, *hw.Details, error) {
	if cfg == nil {
		cfg = &HardwareConfig{}
	}
	return hw.Probe(ctx, hw.Options{CacheDir: cfg.CacheDir, Depth: cfg.Depth, GPUs: devices{}})
}

// devices finds the devices of every driver that Atenia knows.
type devices struct{}

// Devices loads the driver for as long as it takes to ask.
func (devices) Devices(ctx context.Context, depth hw.Depth) ([]hw.Device, error) {
	d, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	list, err := d.Devices(ctx, depth)
	return list, errors.Join(err, d.Close())
}

// A HardwareBench is what parts of the machine do in a second, measured
// several times.
type HardwareBench struct {
	Machine   string         `json:"machine"` // equal on equal machines
	Processor string         `json:"processor"`
	OS        string         `json:"os"`
	Threads   int            `json:"threads"`
	Tests     []HardwareRate `json:"tests"`
}

// A HardwareRate is one test: bytes a second, operations a second, or seconds.
type HardwareRate struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"` // "B/s", "1/s" or "s"
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples"` // in the order they were taken
}

// maxBenchThreads bounds the memory that a measurement takes.
const maxBenchThreads = 1024

// BenchMemory measures how fast memory is read, copied and touched for the
// first time, by one core and by all threads together (0 = one for each core).
func BenchMemory(ctx context.Context, threads, repeats int) (*HardwareBench, error) {
	if threads == 0 {
		threads = cpu.Threads()
	}
	if threads < 1 || threads > maxBenchThreads {
		return nil, &ConfigError{"Threads", threads, fmt.Sprintf("0 to %d", maxBenchThreads)}
	}
	if repeats < 1 {
		return nil, &ConfigError{"Repeats", repeats, "1 or more"}
	}
	b, err := newHardwareBench(ctx, threads)
	if err != nil {
		return nil, err
	}
	counts := []int{1, threads}
	for _, n := range slices.Compact(counts) {
		if err := b.memory(ctx, n, repeats); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func newHardwareBench(ctx context.Context, threads int) (*HardwareBench, error) {
	_, d, err := hw.Probe(ctx, hw.Options{})
	if err != nil {
		return nil, err
	}
	return &HardwareBench{Machine: d.Machine(), Processor: d.Processor.Name, OS: runtime.GOOS, Threads: threads}, nil
}

// BenchStorage measures the storage of a folder, which is made if it is not
// there: large and small reads past the system's cache, writes, and the first
// touch of memory. It takes some seconds for each repeat. The last result is
// kept as the profile of the device, which [Hardware] and plans go by.
func BenchStorage(ctx context.Context, dir string, repeats int) (*HardwareBench, error) {
	if dir == "" {
		return nil, &ConfigError{"Dir", dir, "a folder"}
	}
	if repeats < 1 {
		return nil, &ConfigError{"Repeats", repeats, "1 or more"}
	}
	b, err := newHardwareBench(ctx, 1)
	if err != nil {
		return nil, err
	}
	tests := []struct {
		name, unit string
		of         func(*hw.Profile) float64
		samples    []float64
	}{
		{name: "read in sequence", unit: "B/s", of: func(p *hw.Profile) float64 { return p.ReadBytes }},
		{name: "read in sequence, 99 % within", unit: "s", of: func(p *hw.Profile) float64 { return p.ReadP99Seconds }},
		{name: "read 4 KiB anywhere", unit: "1/s", of: func(p *hw.Profile) float64 { return p.RandomReads }},
		{name: "read 4 KiB anywhere, mean", unit: "s", of: func(p *hw.Profile) float64 { return p.LatencySeconds }},
		{name: "read 4 KiB anywhere, 99 % within", unit: "s", of: func(p *hw.Profile) float64 { return p.LatencyP99 }},
		{name: "write and sync", unit: "B/s", of: func(p *hw.Profile) float64 { return p.WriteBytes }},
		{name: "first touch of memory", unit: "B/s", of: func(p *hw.Profile) float64 { return p.TouchBytes }},
	}
	for range repeats {
		_, d, err := hw.Probe(ctx, hw.Options{CacheDir: dir, Depth: hw.Full})
		if err != nil {
			return nil, err
		}
		for i := range tests {
			tests[i].samples = append(tests[i].samples, tests[i].of(d.Storage.Profile))
		}
	}
	for _, t := range tests {
		b.add(t.name, t.unit, t.samples)
	}
	return b, nil
}

// memory adds the tests with n threads.
func (b *HardwareBench) memory(ctx context.Context, n, repeats int) error {
	p, err := roof.New(n)
	if err != nil {
		return err
	}
	defer p.Close()
	who := "one core"
	if n > 1 {
		who = "all threads"
	}
	var read, copied, touched []float64
	for range repeats {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := p.Bandwidth()
		if err != nil {
			return err
		}
		read, copied, touched = append(read, m.Read), append(copied, m.Copy), append(touched, m.Touch)
	}
	b.add("read, "+who, "B/s", read)
	b.add("copy, "+who, "B/s", copied)
	b.add("first touch, "+who, "B/s", touched)
	return nil
}

func (b *HardwareBench) add(name, unit string, samples []float64) {
	median, low, high := roof.Spread(samples)
	b.Tests = append(b.Tests, HardwareRate{name, unit, median, low, high, samples})
}
