package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"atenia"
	"atenia/grad"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/cpu"
	"atenia/internal/train/data"
	"atenia/internal/train/fit"
)

// A config configures [runSteps].
type config struct {
	Size      string // one of [modelNames]; "" = "5M"
	Rows      int    // per batch; 0 = 8
	Length    int    // tokens per row; 0 = 256
	Steps     int    // measured steps, after two warm-up steps; 0 = 5
	Threads   int    // 0 = the physical cores
	Recompute bool   // recompute layers in the backward pass instead of keeping activations
	// Progress, if not nil, is called before each step.
	Progress func(step, of int)
}

// A report holds the times of a step, in seconds.
type report struct {
	Size                              string
	Parameters, Rows, Length, Threads int
	Step, Forward, Backward, Update   float64 // medians
	Loss                              float64 // of the last step
	PeakBytes                         int64   // peak resident set; 0 = unknown
	// Share is the fraction of a step that its multiply-adds would take at the
	// machine's measured rate.
	Share float64
}

// sizes lists the named sizes.
var sizes = []struct {
	name string
	fit.Sizes
}{
	{"1M", fit.Sizes{Vocabulary: 1024, Hidden: 128, Layers: 4, Heads: 4, KVHeads: 4, FFN: 344}},
	{"5M", fit.Sizes{Vocabulary: 4096, Hidden: 256, Layers: 5, Heads: 8, KVHeads: 8, FFN: 688}},
	{"60M", fit.Sizes{Vocabulary: 16384, Hidden: 512, Layers: 12, Heads: 8, KVHeads: 8, FFN: 2048}},
	{"300M", fit.Sizes{Vocabulary: 257, Hidden: 1024, Layers: 24, Heads: 16, KVHeads: 16, FFN: 2816}},
}

// modelNames returns the names of the sizes.
func modelNames() (names []string) {
	for _, s := range sizes {
		names = append(names, s.name)
	}
	return names
}

func (c *config) complete() (s fit.Sizes, err error) {
	c.Size, c.Rows, c.Length = cmp.Or(c.Size, "5M"), cmp.Or(c.Rows, 8), cmp.Or(c.Length, 256)
	c.Steps, c.Threads = cmp.Or(c.Steps, 5), cmp.Or(c.Threads, cpu.Threads())
	at := slices.Index(modelNames(), c.Size)
	if at < 0 {
		return s, &atenia.ConfigError{Field: "size", Got: c.Size, Want: fmt.Sprint("one of ", modelNames())}
	}
	for _, f := range []struct {
		name     string
		is, most int
	}{{"rows", c.Rows, 4096}, {"length", c.Length, 1 << 16}, {"steps", c.Steps, 1000}, {"threads", c.Threads, 1024}} {
		if f.is < 1 || f.is > f.most {
			return s, &atenia.ConfigError{Field: f.name, Got: f.is, Want: fmt.Sprint("1 to ", f.most)}
		}
	}
	s = sizes[at].Sizes
	s.Context, s.RopeTheta, s.NormEps = c.Length, 10000, 1e-5
	return s, nil
}

// runSteps measures training steps. Errors match [*atenia.ConfigError], or
// are those of the parts and of the context.
func runSteps(ctx context.Context, c config) (*report, error) {
	s, err := c.complete()
	if err != nil {
		return nil, err
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	p := grad.NewThreads(c.Threads)
	defer p.Close()
	m, err := fit.New(config, fit.ModelOptions{Threads: p, Recompute: c.Recompute})
	if err != nil {
		return nil, err
	}
	m.Init(1, 0.02)
	r, err := measure(ctx, c, m, p)
	if err != nil {
		return nil, err
	}
	r.Share = float64(operations(s, r)) / roof.MeasureFMA(c.Threads) / r.Step
	return r, nil
}

// operations returns the operations of the products of a step: two for every
// parameter and token, except for the embedding table, and for every layer two
// products with half of the previous positions; the backward pass takes twice as
// many.
func operations(s fit.Sizes, r *report) int {
	tokens := r.Rows * r.Length
	return 3 * (2*r.Parameters + 2*s.Layers*s.Hidden*r.Length) * tokens
}

func measure(ctx context.Context, c config, m *fit.Model, p *grad.Threads) (*report, error) {
	opt, err := grad.NewOptimizer(grad.AdamW{Decay: 0.1}, m.Params(), p)
	if err != nil {
		return nil, err
	}
	r := &report{Size: c.Size, Rows: c.Rows, Length: c.Length, Threads: c.Threads}
	r.Parameters, _ = m.Size()
	b := batch(c, m.Vocabulary())
	var forward, backward, update, whole []float64
	for i := range c.Steps + 2 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.Progress != nil {
			c.Progress(max(0, i-1), c.Steps)
		}
		start := time.Now()
		if r.Loss, err = m.Forward(b); err != nil {
			return nil, err
		}
		there := time.Now()
		if err := m.Back(1); err != nil {
			return nil, err
		}
		back := time.Now()
		opt.Step(3e-4, 1)
		for _, q := range m.Params() {
			clear(q.Grad)
		}
		end := time.Now()
		if i < 2 { // warm-up
			continue
		}
		forward, backward = append(forward, there.Sub(start).Seconds()), append(backward, back.Sub(there).Seconds())
		update, whole = append(update, end.Sub(back).Seconds()), append(whole, end.Sub(start).Seconds())
	}
	r.PeakBytes = cpu.PeakResident()
	r.Step, r.Forward, r.Backward, r.Update = median(whole), median(forward), median(backward), median(update)
	return r, nil
}

func median(x []float64) float64 {
	m, _, _ := roof.Spread(x)
	return m
}

// batch returns rows of random tokens with loss everywhere.
func batch(c config, vocab int) *data.Batch {
	rng := rand.New(rand.NewPCG(3, 4))
	b := &data.Batch{}
	for range c.Rows {
		b.Lens = append(b.Lens, c.Length)
		for range c.Length {
			b.Tokens = append(b.Tokens, int32(rng.IntN(vocab)))
			b.Labels = append(b.Labels, int32(rng.IntN(vocab)))
		}
	}
	return b
}
