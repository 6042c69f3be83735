package spectral

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A forward is an FFT or STFT: token t is the spectrum of the n frames before
// frame (t+1) hop, under a window.
type forward[F node.Float] struct {
	node.Reporter
	framing
	rows   int
	window []F // [n]
	plan   *dsp.RealFFT[F]
	past   []F // [rows, n] the frames before the call
	ahead  []F // [rows, n] gradients that later tokens contribute to those frames
	frame  []F // [n] scratch
	spectrum[F]
}

func newForward[F node.Float](windowed bool) func(node.Config) (node.Instance[F], error) {
	return func(cfg node.Config) (node.Instance[F], error) {
		f := &forward[F]{Reporter: node.NewReporter(cfg, 0), framing: framingOf(cfg.Settings, windowed), window: windowOf[F](cfg.Settings, windowed)}
		f.rows, f.plan = cfg.Node.InShape[0].B*cfg.Node.InShape[0].C, dsp.NewRealFFT[F](f.n)
		f.past, f.frame, f.spectrum = make([]F, f.rows*f.n), make([]F, f.n), newSpectrum[F](f.bins)
		if cfg.Training {
			f.ahead = make([]F, f.rows*f.n)
		}
		return f, nil
	}
}

func (f *forward[F]) Forward(c *node.Call[F]) graph.Code {
	y := &c.Out[0]
	for r := range f.rows {
		x, past := c.In[0].Row(r), f.past[r*f.n:][:f.n]
		for t := range c.Tokens {
			slide(past, x[t*f.hop:][:f.hop])
			for i, w := range f.window {
				f.frame[i] = w * past[i]
			}
			f.plan.Forward(f.re, f.im, f.frame)
			f.put(y, r, t)
		}
	}
	node.Report(f.Reporter, c)
	return graph.Success
}

// slide shifts the frames of x into the end of past.
func slide[F node.Float](past, x []F) {
	if len(x) >= len(past) {
		copy(past, x[len(x)-len(past):])
		return
	}
	copy(past, past[len(x):])
	copy(past[len(past)-len(x):], x)
}

func (f *forward[F]) Reset()              { clear(f.past) }
func (f *forward[F]) StateBytes() int     { return node.FloatBytes[F](len(f.past)) }
func (f *forward[F]) Save(dst []byte) int { return node.PutFloats(dst, f.past) }
func (f *forward[F]) Load(src []byte) graph.Code {
	if len(src) != f.StateBytes() {
		return graph.State
	}
	node.GetFloats(f.past, src)
	return graph.Success
}

func (f *forward[F]) Needs() node.Needs            { return 0 }
func (f *forward[F]) ResetAdjoint()                { clear(f.ahead) }
func (f *forward[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward adds the contribution of each token to its n frames. No earlier
// token reads the last hop of them.
func (f *forward[F]) Backward(b *node.Back[F]) graph.Code {
	d := &b.DOut[0]
	for r := range f.rows {
		ahead := f.ahead[r*f.n:][:f.n]
		for t := b.Tokens - 1; t >= 0; t-- {
			f.take(d, r, t)
			f.plan.ForwardAdjoint(f.frame, f.re, f.im)
			for i, w := range f.window {
				ahead[i] += F(w * f.frame[i])
			}
			giveOut(f.framing, &b.DIn[0], ahead, r, t)
		}
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}

// giveOut writes the gradients of the frames that token t is the first to read,
// if requested, and moves the window of gradients back by one token.
func giveOut[F node.Float](f framing, d *node.Tensor[F], ahead []F, r, t int) {
	if d.Data != nil {
		dx := d.Row(r)[t*f.hop:][:f.hop]
		skipped := max(0, f.hop-f.n)
		clear(dx[:skipped])
		copy(dx[skipped:], ahead[f.n-min(f.n, f.hop):])
	}
	retreat(ahead, f.hop)
}

// retreat shifts a window of frames n frames back, filling with zeros.
func retreat[F node.Float](x []F, n int) {
	n = min(n, len(x))
	copy(x[n:], x[:len(x)-n])
	clear(x[:n])
}
