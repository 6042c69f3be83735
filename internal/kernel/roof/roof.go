package roof

import (
	"slices"
	"sync"
	"time"

	"atenia/internal/kernel"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
)

// Roofs are the peak rates of several threads together, in bytes or operations
// per second; a multiply-add is two operations.
type Roofs struct {
	Memory float64 // reads from memory in pages of 2 MiB, if available
	Cache  float64 // reads from the L2 caches
	FMA    float64 // float32 multiply-adds from registers
	Dot    float64 // int8 multiply-adds from registers
}

// Spread returns the median, the minimum and the maximum of samples.
func Spread(samples []float64) (median, low, high float64) {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2, s[0], s[n-1]
}

// A Probe measures [Roofs]. Each round takes some 50 ms; the best of several
// counts, because other load only ever slows a round down.
type Probe struct {
	Best   Roofs
	memory []ledger.Block // one per thread
}

// leastMemory is the least that a thread reads.
const (
	leastMemory = 4 << 20
	hugePage    = 2 << 20
)

// New returns a probe for a number of threads with memory to read: for each
// thread four times its share of the last-level cache, between 64 and 256 MiB, and
// less where a quarter of what can be allocated is less. Then rates may be those
// of the cache.
func New(threads int) (*Probe, error) {
	size := min(max(4*cpu.Detect().L3/max(1, threads), 64<<20), 256<<20)
	free := min(ledger.Process.Free()/4, 1<<40)
	size = max(leastMemory, min(size, int(free)/max(1, threads)&^(hugePage-1)))
	p := &Probe{}
	for range max(1, threads) {
		b, err := ledger.NewHugeBlock(ledger.Process, ledger.Samples, size)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.memory = append(p.memory, b)
	}
	p.together(func(i int) {
		for b := p.memory[i].Bytes; len(b) > 0; b = b[min(len(b), 4096):] {
			b[0] = 1 // allocate a page of its own instead of the shared zero page
		}
	})
	return p, nil
}

// Close frees the memory.
func (p *Probe) Close() {
	for i := range p.memory {
		p.memory[i].Release()
	}
}

// Round measures every roof once.
func (p *Probe) Round() {
	p.best(&p.Best.Memory, func(i int) float64 { return stream(p.memory[i].Bytes) })
	size := cpu.Detect().L2 / 2
	if size == 0 {
		size = 128 << 10
	}
	p.best(&p.Best.Cache, func(i int) float64 {
		for range max(1, 64<<20/size) {
			kernel.Read(p.memory[i].Bytes[:size])
		}
		return float64(max(1, 64<<20/size) * size)
	})
	for range 4 {
		p.best(&p.Best.FMA, func(int) float64 { return again(kernel.FMALoop) })
		p.best(&p.Best.Dot, func(int) float64 { return again(kernel.DotLoop) })
	}
}

// again repeats a loop for about a millisecond, in short calls.
func again(loop func(steps int) float64) (operations float64) {
	steps := 1 << 12
	if kernel.Variant() == "portable" {
		steps = 1 << 8
	}
	for range 64 {
		operations += loop(steps)
	}
	return operations
}

// best raises a roof to the combined rate of all threads; do returns a thread's
// bytes or operations.
func (p *Probe) best(roof *float64, do func(i int) float64) {
	done := make([]float64, len(p.memory))
	start := time.Now()
	p.together(func(i int) { done[i] = do(i) })
	took, sum := time.Since(start).Seconds(), 0.0
	for _, d := range done {
		sum += d
	}
	*roof = max(*roof, sum/took)
}

func (p *Probe) together(f func(i int)) {
	var wg sync.WaitGroup
	for i := range p.memory {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// measured has what [Measure] found, for each number of threads.
var measured struct {
	sync.Mutex
	roofs map[int]Roofs
}

// Measure returns the best of a few rounds, in about half a second. A machine's roofs
// stay while a process runs, so they are measured once for each number of threads.
func Measure(threads int) (Roofs, error) {
	measured.Lock()
	defer measured.Unlock()
	if r, ok := measured.roofs[threads]; ok {
		return r, nil
	}
	p, err := New(threads)
	if err != nil {
		return Roofs{}, err
	}
	defer p.Close()
	for range 4 {
		p.Round()
	}
	if measured.roofs == nil {
		measured.roofs = map[int]Roofs{}
	}
	measured.roofs[threads] = p.Best
	return p.Best, nil
}

// MeasureFMA returns the best rate of multiply-adds of a few dozen short
// measurements, which take some 50 ms.
func MeasureFMA(threads int) float64 {
	p := &Probe{memory: make([]ledger.Block, max(1, threads))}
	for range 32 {
		p.best(&p.Best.FMA, func(int) float64 { return again(kernel.FMALoop) })
	}
	return p.Best.FMA
}
