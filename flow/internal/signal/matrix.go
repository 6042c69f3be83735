package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

func refineMatrix(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	m, bias := spec.Params[0].Value, spec.Params[1].Value
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if m.B != 1 || m.F != in[0].C || bias.B != 1 || bias.F != 1 || bias.C != 1 && bias.C != m.C {
			return nil, node.Mismatch(n, "a matrix is [1, outputs, inputs], its bias [1, outputs, 1]")
		}
		return []graph.Shape{{B: in[0].B, C: m.C}}, nil
	}
	return nil
}

// A linear multiplies the channels of every frame by a matrix and adds a bias.
// Gradients of both are summed separately for each batch, so that the sums do
// not depend on how the stream is cut.
type linear[F node.Float] struct {
	node.Reporter
	out, in        int
	dMatrix, dBias []dsp.Lanes // [batches, out, in], [batches, out]
}

func newMatrix[F node.Float](cfg node.Config) (node.Instance[F], error) {
	l := &linear[F]{Reporter: node.NewReporter(cfg, 0), out: cfg.Node.OutShape[0].C, in: cfg.Node.InShape[0].C}
	if cfg.Training {
		batches := cfg.Node.InShape[0].B
		l.dMatrix, l.dBias = make([]dsp.Lanes, batches*l.out*l.in), make([]dsp.Lanes, batches*l.out)
	}
	return l, nil
}

func (l *linear[F]) Reset()            {}
func (l *linear[F]) Needs() node.Needs { return node.NeedX }
func (l *linear[F]) ResetAdjoint()     {}

func (l *linear[F]) Forward(c *node.Call[F]) graph.Code {
	l.run(c)
	node.Report(l.Reporter, c)
	return graph.Success
}

func (l *linear[F]) run(c *node.Call[F]) {
	x, y, m, bias := &c.In[0], &c.Out[0], c.Param[0].Data, &c.Param[1]
	for r := range y.B * y.C {
		b, o := r/y.C, r%y.C
		row := y.Row(r)
		dsp.Scale(row, x.Row(b*l.in), m[o*l.in])
		for i := 1; i < l.in; i++ {
			dsp.AddScaled(row, x.Row(b*l.in+i), m[o*l.in+i])
		}
		v := bias.At(o, bias.C)
		for k := range row {
			row[k] += v
		}
	}
}

func (l *linear[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(l.Reporter, c, func() { l.run(c) })
}

// Backward multiplies by the transposed matrix.
func (l *linear[F]) Backward(b *node.Back[F]) graph.Code {
	d, x, m := &b.DOut[0], &b.In[0], b.Param[0].Data
	if g := &b.DIn[0]; g.Data != nil {
		for r := range g.B * g.C {
			k, i := r/g.C, r%g.C
			row := g.Row(r)
			dsp.Scale(row, d.Row(k*l.out), m[i])
			for o := 1; o < l.out; o++ {
				dsp.AddScaled(row, d.Row(k*l.out+o), m[o*l.in+i])
			}
		}
	}
	if b.DParam[0].Sum != nil {
		for r := range d.B * l.out {
			for i := range l.in {
				dsp.AddDot(&l.dMatrix[r*l.in+i], d.Row(r), x.Row(r/l.out*l.in+i), b.Frame0)
			}
		}
	}
	if b.DParam[1].Sum != nil {
		for r := range d.B * l.out {
			dsp.AddSum(&l.dBias[r], d.Row(r), b.Frame0)
		}
	}
	node.Report(l.Reporter, &b.Call)
	return graph.Success
}

func (l *linear[F]) FinishAdjoint(p []node.Grad[F]) {
	fold(p[0].Sum, l.dMatrix)
	fold(p[1].Sum, l.dBias)
}

// fold adds lanes, a whole number of repetitions of to's shape, to to, or their
// total if to is a single number, and clears them. A nil to is ignored.
func fold(to []float64, lanes []dsp.Lanes) {
	for i := range lanes {
		if len(to) > 0 {
			to[i%len(to)] += lanes[i].Sum()
		}
	}
	clear(lanes)
}
