package spectral

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

func refineLoss(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	f := framingOf(s, true)
	spec.Cons = []int{f.hop, f.hop}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0] != in[1] {
			return nil, node.Mismatch(n, "in and target have different shapes")
		}
		return []graph.Shape{{B: in[0].B, C: 1}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// least is added to squared magnitudes, so that their roots and logarithms have
// derivatives everywhere. A full-scale sine has n_fft²/16 under a Hann window.
const least = 1e-4

// A loss compares magnitudes m of two spectra: the mean over bins and channels
// of (m - m')² + (ln m - ln m')². It is the spectral loss of Engel et al.,
// DDSP: Differentiable digital signal processing, 2020, with squares for
// absolute values, so that the derivative is continuous. There it is summed
// over several n_fft, for which a plan uses a Mix.
type loss[F node.Float] struct {
	node.Reporter
	framing
	batches, channels int
	window            []F // [n]
	plan              *dsp.RealFFT[F]
	past              []F    // [2, rows, n] frames of in and target before the call
	before            []F    // a snapshot of past
	ahead             []F    // [2, rows, n] gradients that later tokens contribute to frames
	x                 [2][]F // [n + MaxTokens hop] of a row: before the call and its own
	frame             []F
	sides             [2]spectrum[F]
}

func newLoss[F node.Float](cfg node.Config) (node.Instance[F], error) {
	l := &loss[F]{Reporter: node.NewReporter(cfg, 0), framing: framingOf(cfg.Settings, true), window: windowOf[F](cfg.Settings, true),
		batches: cfg.Node.InShape[0].B, channels: cfg.Node.InShape[0].C}
	l.plan, l.frame = dsp.NewRealFFT[F](l.n), make([]F, l.n)
	l.past = make([]F, 2*l.batches*l.channels*l.n)
	for k := range l.x {
		l.x[k], l.sides[k] = make([]F, l.n+cfg.MaxTokens*l.hop), newSpectrum[F](l.bins)
	}
	if cfg.Training {
		l.before, l.ahead = make([]F, len(l.past)), make([]F, len(l.past))
	}
	return l, nil
}

// row returns row r of side k of a buffer shaped like past.
func (l *loss[F]) row(b []F, k, r int) []F { return b[(k*l.batches*l.channels+r)*l.n:][:l.n] }

// fill concatenates the history and the call's frames of row r.
func (l *loss[F]) fill(past []F, c *node.Call[F], r int) {
	for k := range l.x {
		copy(l.x[k], l.row(past, k, r))
		copy(l.x[k][l.n:], c.In[k].Row(r))
	}
}

// spectra computes both spectra of token t.
func (l *loss[F]) spectra(t int) {
	for k := range l.sides {
		x := l.x[k][(t+1)*l.hop:][:l.n]
		for i, w := range l.window {
			l.frame[i] = w * x[i]
		}
		l.plan.Forward(l.sides[k].re, l.sides[k].im, l.frame)
	}
}

// magnitude returns the magnitude of bin i of side k.
func (l *loss[F]) magnitude(k, i int) float64 {
	re, im := float64(l.sides[k].re[i]), float64(l.sides[k].im[i])
	return math.Sqrt(float64(re*re) + float64(im*im) + least)
}

func (l *loss[F]) Forward(c *node.Call[F]) graph.Code {
	for b := range l.batches {
		y := c.Out[0].Row(b)
		clear(y)
		for ch := range l.channels {
			r := b*l.channels + ch
			l.fill(l.past, c, r)
			for t := range y {
				l.spectra(t)
				sum := 0.0
				for i := range l.bins {
					m, want := l.magnitude(0, i), l.magnitude(1, i)
					d, ratio := m-want, math.Log(m/want)
					sum += float64(d*d) + float64(ratio*ratio)
				}
				y[t] += F(sum / float64(l.channels*l.bins))
			}
			for k := range l.x {
				copy(l.row(l.past, k, r), l.x[k][c.Tokens*l.hop:])
			}
		}
	}
	node.Report(l.Reporter, c)
	return graph.Success
}

func (l *loss[F]) Reset()              { clear(l.past) }
func (l *loss[F]) StateBytes() int     { return node.FloatBytes[F](len(l.past)) }
func (l *loss[F]) Save(dst []byte) int { return node.PutFloats(dst, l.past) }
func (l *loss[F]) Load(src []byte) graph.Code {
	if len(src) != l.StateBytes() {
		return graph.State
	}
	node.GetFloats(l.past, src)
	return graph.Success
}

func (l *loss[F]) Needs() node.Needs            { return node.NeedX | node.NeedS0 }
func (l *loss[F]) ResetAdjoint()                { clear(l.ahead) }
func (l *loss[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward computes the spectra again and goes back through them as an STFT
// does.
func (l *loss[F]) Backward(b *node.Back[F]) graph.Code {
	if len(b.State0) != l.StateBytes() {
		return graph.State
	}
	node.GetFloats(l.before, b.State0)
	for r := range l.batches * l.channels {
		l.fill(l.before, &b.Call, r)
		dy := b.DOut[0].Row(r / l.channels)
		for t := b.Tokens - 1; t >= 0; t-- {
			l.spectra(t)
			l.compare(float64(dy[t]) / float64(l.channels*l.bins))
			for k := range l.sides {
				ahead := l.row(l.ahead, k, r)
				l.plan.ForwardAdjoint(l.frame, l.sides[k].re, l.sides[k].im)
				for i, w := range l.window {
					ahead[i] += F(w * l.frame[i])
				}
				giveOut(l.framing, &b.DIn[k], ahead, r, t)
			}
		}
	}
	node.Report(l.Reporter, &b.Call)
	return graph.Success
}

// compare replaces the spectra by the loss's gradients.
func (l *loss[F]) compare(dy float64) {
	for i := range l.bins {
		m := [2]float64{l.magnitude(0, i), l.magnitude(1, i)}
		d, ratio := m[0]-m[1], math.Log(m[0]/m[1])
		for k, sign := range [...]float64{2, -2} {
			by := F(dy * sign * (d + ratio/m[k]) / m[k])
			l.sides[k].re[i] *= by
			l.sides[k].im[i] *= by
		}
	}
}
