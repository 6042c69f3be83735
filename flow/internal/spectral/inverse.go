package spectral

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// An inverse is an IFFT or ISTFT: windowed inverses are overlap-added, and the
// hop frames to which no later token contributes are given out.
type inverse[F node.Float] struct {
	node.Reporter
	framing
	rows   int
	window []F // [n]
	scale  []F // [hop] 1 over the sum of the squared windows
	plan   *dsp.RealFFT[F]
	sum    []F // [rows, n] frames to which tokens may still contribute
	ahead  []F // [rows, n] gradients of those frames
	frame  []F // [n] scratch
	spectrum[F]
}

func newInverse[F node.Float](windowed bool) func(node.Config) (node.Instance[F], error) {
	return func(cfg node.Config) (node.Instance[F], error) {
		v := &inverse[F]{framing: framingOf(cfg.Settings, windowed), window: windowOf[F](cfg.Settings, windowed)}
		v.Reporter = node.NewReporter(cfg, v.n-v.hop)
		v.rows, v.plan, v.scale = cfg.Node.OutShape[0].B*cfg.Node.OutShape[0].C, dsp.NewRealFFT[F](v.n), overlap(v.window, v.hop)
		for i, s := range v.scale {
			v.scale[i] = 1 / s
		}
		v.sum, v.frame, v.spectrum = make([]F, v.rows*v.n), make([]F, v.n), newSpectrum[F](v.bins)
		if cfg.Training {
			v.ahead = make([]F, v.rows*v.n)
		}
		return v, nil
	}
}

func (v *inverse[F]) Forward(c *node.Call[F]) graph.Code {
	x := &c.In[0]
	for r := range v.rows {
		sum, y := v.sum[r*v.n:][:v.n], c.Out[0].Row(r)
		for t := range c.Tokens {
			v.take(x, r, t)
			v.plan.Inverse(v.frame, v.re, v.im)
			copy(sum, sum[v.hop:])
			clear(sum[v.n-v.hop:])
			for i, w := range v.window {
				sum[i] += F(w * v.frame[i])
			}
			for i, s := range v.scale {
				y[t*v.hop+i] = s * sum[i]
			}
		}
	}
	node.Report(v.Reporter, c)
	return graph.Success
}

func (v *inverse[F]) Reset()              { clear(v.sum) }
func (v *inverse[F]) StateBytes() int     { return node.FloatBytes[F](len(v.sum)) }
func (v *inverse[F]) Save(dst []byte) int { return node.PutFloats(dst, v.sum) }
func (v *inverse[F]) Load(src []byte) graph.Code {
	if len(src) != v.StateBytes() {
		return graph.State
	}
	node.GetFloats(v.sum, src)
	return graph.Success
}

func (v *inverse[F]) Needs() node.Needs            { return 0 }
func (v *inverse[F]) ResetAdjoint()                { clear(v.ahead) }
func (v *inverse[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward returns the windowed spectrum of the gradients: the transpose of
// overlap-add is framing.
func (v *inverse[F]) Backward(b *node.Back[F]) graph.Code {
	for r := range v.rows {
		ahead, dy := v.ahead[r*v.n:][:v.n], b.DOut[0].Row(r)
		for t := b.Tokens - 1; t >= 0; t-- {
			retreat(ahead, v.hop)
			for i, s := range v.scale {
				ahead[i] = s * dy[t*v.hop+i]
			}
			if b.DIn[0].Data == nil {
				continue
			}
			for i, w := range v.window {
				v.frame[i] = w * ahead[i]
			}
			v.plan.InverseAdjoint(v.re, v.im, v.frame)
			v.put(&b.DIn[0], r, t)
		}
	}
	node.Report(v.Reporter, &b.Call)
	return graph.Success
}
