package machine

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"atenia"
	"atenia/internal/kernel"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/cpu"
	"atenia/internal/train/offload"
	"atenia/tensor"
)

// An OffloadConfig configures [RunOffload]: a stack of square layers under AdamW, with its
// state in memory and in files.
type OffloadConfig struct {
	Layers int // 0 = 4
	Width  int // of a layer, which has Width² parameters; 0 = 1024
	Tokens int // per batch; 0 = 2048
	Steps  int // measured steps, after one warm-up step; 0 = 3
	// Batches is the number of batches accumulated per step; 0 = 1.
	Batches    int
	Threads    int    // 0 = the physical cores
	Dir        string // an empty folder for the state
	ChunkBytes int    // 0 = 16 MiB
	// Progress, if not nil, is called before each step.
	Progress func(step, of int)
}

// An OffloadReport holds the cost of training with the state in files.
type OffloadReport struct {
	Layers, Parameters, Tokens, Batches, Threads int
	StateBytes                                   int64   // 14 per parameter
	InMemory, Offloaded                          float64 // seconds per step, medians
	// Overhead is the additional time of a step in files relative to one in memory:
	// the median over steps measured next to each other.
	Overhead float64
	// Update is the time of the optimizer in a step in memory, in seconds.
	Update float64
	// Overlap is the fraction of the hideable time that was hidden; see
	// [offload.Report.Overlap].
	Overlap                 float64
	ReadBytes, WrittenBytes uint64 // per step
	// Equal is set if both ended with the same parameters, bit for bit.
	Equal bool
}

// StepsUntil returns how many such steps exhaust a disk's endurance of tbw
// written bytes.
func (r *OffloadReport) StepsUntil(tbw uint64) uint64 {
	return offload.Report{WrittenBytes: r.WrittenBytes}.StepsUntil(tbw)
}

func (c *OffloadConfig) complete() error {
	c.Layers, c.Width, c.Tokens = cmp.Or(c.Layers, 4), cmp.Or(c.Width, 1024), cmp.Or(c.Tokens, 2048)
	c.Steps, c.Batches = cmp.Or(c.Steps, 3), cmp.Or(c.Batches, 1)
	c.Threads = cmp.Or(c.Threads, cpu.Threads())
	for _, f := range []struct {
		name      string
		is, least int
		most      int
	}{
		{"layers", c.Layers, 1, 10_000}, {"width", c.Width, 32, 1 << 16}, {"tokens", c.Tokens, 1, 1 << 20},
		{"steps", c.Steps, 1, 1000}, {"batches", c.Batches, 1, 1000}, {"threads", c.Threads, 1, 1024}, {"chunk bytes", c.ChunkBytes, 0, 1 << 30},
	} {
		if f.is < f.least || f.is > f.most {
			return &atenia.ConfigError{Field: f.name, Got: f.is, Want: fmt.Sprintf("%d to %d", f.least, f.most)}
		}
	}
	if c.Width%32 != 0 {
		return &atenia.ConfigError{Field: "width", Got: c.Width, Want: "a multiple of 32"}
	}
	return nil
}

// RunOffload measures training steps with the state in files and in memory. Instead of
// a model it computes products of the size of a forward and a backward pass on
// synthetic activations, so that there is computation to overlap I/O with.
func RunOffload(ctx context.Context, c OffloadConfig) (*OffloadReport, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	return run(ctx, c, c.Dir)
}

func run(ctx context.Context, c OffloadConfig, dir string) (*OffloadReport, error) {
	p := newPasses(c)
	cfg := offload.Config{ChunkBytes: c.ChunkBytes, Workers: c.Threads, Optimizer: offload.Optimizer{Decay: 0.1}}
	inMemory, err := offload.New(p.layers, cfg, p.initial)
	if err != nil {
		return nil, err
	}
	inFiles, err := offload.Create(ctx, dir, p.layers, cfg, p.initial)
	if err != nil {
		return nil, err
	}
	r := &OffloadReport{
		Layers: c.Layers, Parameters: c.Layers * c.Width * c.Width, Tokens: c.Tokens, Batches: c.Batches, Threads: c.Threads,
		StateBytes: 14 * int64(c.Layers*c.Width*c.Width),
	}
	var memory, files, overhead, update, overlap []float64
	for i := range c.Steps + 1 {
		if c.Progress != nil {
			c.Progress(i, c.Steps)
		}
		m, mr, err := p.step(ctx, inMemory, c.Batches)
		if err != nil {
			return nil, err
		}
		f, fr, err := p.step(ctx, inFiles, c.Batches)
		if err != nil {
			return nil, err
		}
		if i == 0 { // warm-up: files and buffers were created
			continue
		}
		memory, files, overhead = append(memory, m), append(files, f), append(overhead, f/m-1)
		update, overlap = append(update, mr.Compute.Seconds()), append(overlap, fr.Overlap())
		r.ReadBytes, r.WrittenBytes = fr.ReadBytes, fr.WrittenBytes
	}
	r.InMemory, r.Offloaded, r.Overhead = median(memory), median(files), median(overhead)
	r.Update, r.Overlap = median(update), median(overlap)
	r.Equal, err = equalParams(ctx, inMemory, inFiles)
	return r, err
}

// equalParams reports whether two states have the same parameters.
func equalParams(ctx context.Context, a, b *offload.State) (bool, error) {
	next, stop := iter.Pull2(b.Params(ctx))
	defer stop()
	for p, err := range a.Params(ctx) {
		q, errB, _ := next()
		if err := errors.Join(err, errB); err != nil {
			return false, err
		}
		if !slices.Equal(p.Values, q.Values) {
			return false, nil
		}
	}
	return true, nil
}

// passes holds the forward and backward passes of a stack of square layers.
type passes struct {
	layers  []offload.Layer
	width   int
	tokens  int
	threads int
	x, y    []float32 // [tokens, width]
	gradDim []byte    // [width, tokens] float32, the gradient of the output
	grads   []float32 // [width, width]
}

func newPasses(c OffloadConfig) *passes {
	p := &passes{width: c.Width, tokens: c.Tokens, threads: c.Threads,
		x: make([]float32, c.Tokens*c.Width), y: make([]float32, c.Tokens*c.Width),
		gradDim: make([]byte, 4*c.Tokens*c.Width), grads: make([]float32, c.Width*c.Width)}
	for i := range c.Layers {
		p.layers = append(p.layers, offload.Layer{Name: fmt.Sprintf("layer %d", i), Elements: c.Width * c.Width})
	}
	for i := range p.x {
		p.x[i] = madeUp(i)
		binary.LittleEndian.PutUint32(p.gradDim[4*i:], math.Float32bits(madeUp(i+7)/float32(c.Tokens)))
	}
	return p
}

// madeUp returns a synthetic number between -1 and 1.
func madeUp(i int) float32 {
	return float32(int32(uint32(i+1)*2654435761)) / (1 << 31)
}

func (p *passes) initial(layer, offset int, dst []float32) error {
	for i := range dst {
		dst[i] = madeUp(layer<<20+offset+i) / 32
	}
	return nil
}

// step performs one step of several batches and returns its time in seconds.
func (p *passes) step(ctx context.Context, s *offload.State, batches int) (float64, offload.Report, error) {
	start := time.Now()
	for range batches - 1 {
		if err := p.forward(ctx, s); err != nil {
			return 0, offload.Report{}, err
		}
		if _, err := s.Accumulate(ctx, p.backward(ctx, s)); err != nil {
			return 0, offload.Report{}, err
		}
	}
	if err := p.forward(ctx, s); err != nil {
		return 0, offload.Report{}, err
	}
	r, err := s.Step(ctx, p.backward(ctx, s), offload.Update{LR: 1e-3})
	return time.Since(start).Seconds(), r, err
}

func (p *passes) forward(ctx context.Context, s *offload.State) error {
	for l, err := range s.Params(ctx) {
		if err != nil {
			return err
		}
		p.product(p.y, tensor.BF16, l.Values, p.x, p.width, p.tokens)
	}
	return nil
}

// backward yields gradients, last layer first: one product for the activations
// of the previous layer, one for the parameters.
func (p *passes) backward(ctx context.Context, s *offload.State) iter.Seq2[offload.Gradient, error] {
	order := make([]int, len(p.layers))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	return func(yield func(offload.Gradient, error) bool) {
		for l, err := range s.Params(ctx, order...) {
			if err == nil {
				p.product(p.y, tensor.BF16, l.Values, p.x, p.width, p.tokens)
				p.product(p.grads, tensor.F32, p.gradDim, p.x, p.tokens, p.width)
			}
			if !yield(offload.Gradient{Layer: l.Layer, Values: p.grads}, err) {
				return
			}
		}
	}
}

// product multiplies rows of x by weights [width, cols] in parallel.
func (p *passes) product(dst []float32, d tensor.DType, weights []byte, x []float32, cols, rows int) {
	w := &kernel.Matrix{DType: d, Rows: p.width, Cols: cols, Data: weights}
	tiles := p.width / kernel.TileRows
	var wg sync.WaitGroup
	for t := range p.threads {
		lo, hi := tiles*t/p.threads*kernel.TileRows, tiles*(t+1)/p.threads*kernel.TileRows
		if lo < hi {
			wg.Go(func() { kernel.MatMul(dst, p.width, w, lo, hi, x, cols, rows) })
		}
	}
	wg.Wait()
}

func median(x []float64) float64 {
	m, _, _ := roof.Spread(x)
	return m
}
