package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"

	"atenia/internal/kernel/dsp"
)

// refineTaps checks that taps are one row for all channels or one per channel.
func refineTaps(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	taps := spec.Params[0].Value
	if s.Word("method") == "partitioned" && s.Int("partition")&(s.Int("partition")-1) != 0 {
		return node.Bad(n, "partition", "a power of two wanted")
	}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if taps.B != 1 || taps.C != 1 && taps.C != in[0].C {
			return nil, node.Mismatch(n, "taps are [1, 1 or channels, length]")
		}
		return in[:1:1], nil
	}
	return nil
}

// A fir is y[n] = sum of h[k] x[n-k], tap by tap.
type fir[F node.Float] struct {
	node.Reporter
	rows, channels, length int
	state                  []F       // [rows, length-1] inputs before the call
	row                    []F       // [length-1 + MaxTokens] those, and the call's
	taps                   []F       // [length] of one row, in reverse
	before                 []F       // [rows, length-1] a snapshot
	ahead                  []F       // [rows, length-1] output gradients after the call
	sums                   []float64 // [rows, length] gradients of the taps, in reverse
}

func newFIR[F node.Float](cfg node.Config) (node.Instance[F], error) {
	if cfg.Settings.Word("method") == "partitioned" {
		return newConvolver[F](cfg)
	}
	shape, length := cfg.Node.Rows, cfg.Node.Spec.Params[0].Value.F
	f := &fir[F]{Reporter: node.NewReporter(cfg, 0), rows: shape.B * shape.C, channels: shape.C, length: length}
	f.state, f.row, f.taps = make([]F, f.rows*(length-1)), make([]F, length-1+cfg.MaxTokens), make([]F, length)
	if cfg.Training {
		f.before, f.ahead, f.sums = make([]F, len(f.state)), make([]F, len(f.state)), make([]float64, f.rows*length)
	}
	return f, nil
}

// past returns row r of a buffer [rows, length-1].
func (f *fir[F]) past(b []F, r int) []F { return b[r*(f.length-1):][:f.length-1] }

// tapsOf returns the taps of row r.
func tapsOf[F node.Float](p *node.Param[F], r, channels int) []F {
	c := r % channels
	if p.C == 1 {
		c = 0
	}
	return p.Tensor.Row(c)
}

func (f *fir[F]) Forward(c *node.Call[F]) graph.Code {
	k := f.length - 1
	for r := range f.rows {
		h := tapsOf(&c.Param[0], r, f.channels)
		for i, t := range h {
			f.taps[k-i] = t
		}
		x := c.In[0].Row(r)
		copy(f.row, f.past(f.state, r))
		copy(f.row[k:], x)
		dsp.Correlate(c.Out[0].Row(r), f.row[:k+len(x)], f.taps)
		copy(f.past(f.state, r), f.row[len(x):])
	}
	node.Report(f.Reporter, c)
	return graph.Success
}

func (f *fir[F]) Reset()                     { clear(f.state) }
func (f *fir[F]) StateBytes() int            { return node.FloatBytes[F](len(f.state)) }
func (f *fir[F]) Save(dst []byte) int        { return node.PutFloats(dst, f.state) }
func (f *fir[F]) Load(src []byte) graph.Code { return takeRowState(f.state, src) }
func (f *fir[F]) Needs() node.Needs          { return node.NeedX | node.NeedS0 }
func (f *fir[F]) ResetAdjoint()              { clear(f.ahead) }

// Backward correlates the output's gradient with the same taps; the gradient of
// tap k is the output's gradient times the input k frames earlier.
func (f *fir[F]) Backward(b *node.Back[F]) graph.Code {
	if b.DParam[0].Sum != nil {
		if code := takeRowState(f.before, b.State0); code != graph.Success {
			return code
		}
	}
	k, n := f.length-1, b.Tokens
	for r := range f.rows {
		dy := b.DOut[0].Row(r)
		if b.DParam[0].Sum != nil {
			copy(f.row, f.past(f.before, r))
			copy(f.row[k:], b.In[0].Row(r))
			dsp.AddCorrelation(f.sums[r*f.length:][:f.length], dy, f.row[:k+n])
		}
		ahead := f.past(f.ahead, r)
		copy(f.row, dy)
		copy(f.row[n:], ahead)
		if b.DIn[0].Data != nil {
			dsp.Correlate(b.DIn[0].Row(r), f.row[:n+k], tapsOf(&b.Param[0], r, f.channels))
		}
		copy(ahead, f.row[:k])
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}

func (f *fir[F]) FinishAdjoint(p []node.Grad[F]) {
	addTaps(p[0].Sum, f.sums, f.rows, f.length)
}

// addTaps adds the sums of rows [rows, length], in reverse order of taps, to a
// table's [1 or channels, length], and clears them.
func addTaps(to, sums []float64, rows, length int) {
	if to != nil {
		for i := range sums {
			r, k := i/length, i%length
			to[(r*length+length-1-k)%len(to)] += sums[i]
		}
	}
	clear(sums)
}
