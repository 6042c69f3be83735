package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// refineFiltered describes FilteredNoise: a token takes a frame of magnitudes
// and gives hop frames of sound.
func refineFiltered(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Prod = []int{s.Int("hop")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0].C < 2 || in[0].C > 1<<12 {
			return nil, node.Mismatch(n, "2 to 4096 bands wanted, one channel each")
		}
		return []graph.Shape{{B: in[0].B, C: 1}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// A filtered is the subtractive synthesiser of Engel et al., DDSP:
// Differentiable digital signal processing, 2020: the hop frames of white noise
// of token t, convolved with a filter of that token, overlap-added. Magnitudes of
// K bands, from zero to half the rate, make a filter of N = 2 (K-1) taps: their
// inverse transform with phase zero, moved to the middle and under a Hann window,
// so that the sound is K-1 frames late.
//
// Noise is uniform in -1..1, a function of seed, batch and frame as that of the
// type Noise. The output is linear in the magnitudes.
type filtered[F node.Float] struct {
	node.Reporter
	batches, bands, taps, hop int
	seed                      uint64
	design                    []F // [taps, bands] from magnitudes to taps
	tail                      []F // [batches, taps-1] frames that later tokens add to
	ahead                     []F // [batches, taps-1] gradients of the frames after the call
	m, h, noise, sum          []F // of a token: [bands], [taps], [hop], [hop + taps - 1]
}

func newFiltered[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape := cfg.Node.InShape[0]
	f := &filtered[F]{Reporter: node.NewReporter(cfg, shape.C-1), batches: shape.B, bands: shape.C, taps: 2 * (shape.C - 1), hop: cfg.Settings.Int("hop"), seed: uint64(cfg.Settings.Int("seed"))}
	f.design = make([]F, f.taps*f.bands)
	for i := range f.taps {
		window := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(f.taps))
		for k := range f.bands {
			weight := 2.0
			if k == 0 || k == f.bands-1 {
				weight = 1
			}
			// The argument is reduced in integers.
			turn := float64(k*(i+f.taps/2)%f.taps) / float64(f.taps)
			f.design[i*f.bands+k] = F(window * weight / float64(f.taps) * math.Cos(2*math.Pi*turn))
		}
	}
	f.tail = make([]F, f.batches*(f.taps-1))
	f.m, f.h, f.noise, f.sum = make([]F, f.bands), make([]F, f.taps), make([]F, f.hop), make([]F, f.hop+f.taps-1)
	if cfg.Training {
		f.ahead = make([]F, len(f.tail))
	}
	return f, nil
}

// draw computes the noise of a token.
func (f *filtered[F]) draw(b int, token int64) {
	key := mixSeed(f.seed<<32 | uint64(b))
	for i := range f.noise {
		f.noise[i] = F(uniform(mixSeed(key + uint64(token)*uint64(f.hop) + uint64(i))))
	}
}

func (f *filtered[F]) Forward(c *node.Call[F]) graph.Code {
	for b := range f.batches {
		tail, y := f.tail[b*(f.taps-1):][:f.taps-1], c.Out[0].Row(b)
		for t := range c.Tokens {
			for k := range f.m {
				f.m[k] = c.In[0].Row(b*f.bands + k)[t]
			}
			for i := range f.h {
				f.h[i] = dsp.Dot(f.design[i*f.bands:][:f.bands], f.m)
			}
			f.draw(b, c.Frame0+int64(t))
			clear(f.sum[copy(f.sum, tail):])
			for i, v := range f.noise {
				dsp.AddScaled(f.sum[i:][:f.taps], f.h, v)
			}
			copy(y[t*f.hop:][:f.hop], f.sum)
			copy(tail, f.sum[f.hop:])
		}
	}
	node.Report(f.Reporter, c)
	return graph.Success
}

func (f *filtered[F]) Reset()                       { clear(f.tail) }
func (f *filtered[F]) StateBytes() int              { return node.FloatBytes[F](len(f.tail)) }
func (f *filtered[F]) Save(dst []byte) int          { return node.PutFloats(dst, f.tail) }
func (f *filtered[F]) Load(src []byte) graph.Code   { return takeRowState(f.tail, src) }
func (f *filtered[F]) Needs() node.Needs            { return 0 }
func (f *filtered[F]) ResetAdjoint()                { clear(f.ahead) }
func (f *filtered[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward correlates the gradient of the sound with the noise, which is that of
// the taps, and goes back through their design.
func (f *filtered[F]) Backward(b *node.Back[F]) graph.Code {
	for batch := range f.batches {
		ahead, dy := f.ahead[batch*(f.taps-1):][:f.taps-1], b.DOut[0].Row(batch)
		for t := b.Tokens - 1; t >= 0; t-- {
			copy(f.sum, dy[t*f.hop:][:f.hop])
			copy(f.sum[f.hop:], ahead)
			copy(ahead, f.sum)
			if b.DIn[0].Data == nil {
				continue
			}
			f.draw(batch, b.Frame0+int64(t))
			clear(f.m)
			for i := range f.taps {
				dsp.AddScaled(f.m, f.design[i*f.bands:][:f.bands], dsp.Dot(f.noise, f.sum[i:][:f.hop]))
			}
			for k, v := range f.m {
				b.DIn[0].Row(batch*f.bands + k)[t] = v
			}
		}
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}
