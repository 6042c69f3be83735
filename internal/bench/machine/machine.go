package machine

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"atenia"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/hw"
)

// A Report is what parts of a machine do in a second, measured
// several times.
type Report struct {
	Machine   string `json:"machine"` // equal on equal machines
	Processor string `json:"processor"`
	OS        string `json:"os"`
	Threads   int    `json:"threads"`
	Tests     []Test `json:"tests"`
}

// A Test is one test: bytes a second, operations a second, or seconds.
type Test struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"` // "B/s", "1/s" or "s"
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples"` // in the order they were taken
}

// maxBenchThreads bounds the memory that a measurement takes.
const maxBenchThreads = 1024

// Memory measures how fast memory is read, copied and touched for the
// first time, by one core and by all threads together (0 = one for each core).
func Memory(ctx context.Context, threads, repeats int) (*Report, error) {
	if threads == 0 {
		threads = cpu.Threads()
	}
	if threads < 1 || threads > maxBenchThreads {
		return nil, &atenia.ConfigError{Field: "Threads", Got: threads, Want: fmt.Sprintf("0 to %d", maxBenchThreads)}
	}
	if repeats < 1 {
		return nil, &atenia.ConfigError{Field: "Repeats", Got: repeats, Want: "1 or more"}
	}
	b, err := newReport(ctx, threads)
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

func newReport(ctx context.Context, threads int) (*Report, error) {
	_, d, err := hw.Probe(ctx, hw.Options{})
	if err != nil {
		return nil, err
	}
	return &Report{Machine: d.Machine(), Processor: d.Processor.Name, OS: runtime.GOOS, Threads: threads}, nil
}

// Storage measures the storage of a folder, which is made if it is not
// there: large and small reads past the system's cache, writes, and the first
// touch of memory. It takes some seconds for each repeat. The last result is
// kept as the profile of the device, which "atenia hw" and plans go by.
func Storage(ctx context.Context, dir string, repeats int) (*Report, error) {
	if dir == "" {
		return nil, &atenia.ConfigError{Field: "Dir", Got: dir, Want: "a folder"}
	}
	if repeats < 1 {
		return nil, &atenia.ConfigError{Field: "Repeats", Got: repeats, Want: "1 or more"}
	}
	b, err := newReport(ctx, 1)
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
func (b *Report) memory(ctx context.Context, n, repeats int) error {
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

func (b *Report) add(name, unit string, samples []float64) {
	median, low, high := roof.Spread(samples)
	b.Tests = append(b.Tests, Test{name, unit, median, low, high, samples})
}
