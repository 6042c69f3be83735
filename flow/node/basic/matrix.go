package basic

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/dsp"
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
// Gradients of both are summed for each batch by itself, so that the sums do not
// depend on where the stream was cut.
type linear[F node.Float] struct {
	node.Reporter
	out, in        int
	dMatrix, dBias []float64 // [batches, out, in], [batches, out]
}

func newMatrix[F node.Float](cfg node.Config) (node.Instance[F], error) {
	l := &linear[F]{Reporter: node.NewReporter(cfg, 0), out: cfg.Node.OutShape[0].C, in: cfg.Node.InShape[0].C}
	if cfg.Training {
		batches := cfg.Node.InShape[0].B
		l.dMatrix, l.dBias = make([]float64, batches*l.out*l.in), make([]float64, batches*l.out)
	}
	return l, nil
}

func (l *linear[F]) Reset()            {}
func (l *linear[F]) Needs() node.Needs { return node.NeedX }
func (l *linear[F]) ResetAdjoint()     {}

func (l *linear[F]) Forward(c *node.Call[F]) graph.Code {
	x, y, m, bias := &c.In[0], &c.Out[0], c.Param[0].Data, &c.Param[1]
	for r := range y.B * y.C {
		b, o := r/y.C, r%y.C
		row := y.Row(r)
		dsp.Scale(row, x.Row(b*l.in), m[o*l.in])
		for i := 1; i < l.in; i++ {
			dsp.AddScaled(row, x.Row(b*l.in+i), m[o*l.in+i])
		}
		v := bias.At(o, bias.C)
		if bias.C == 1 {
			v = bias.Data[0]
		}
		node.Offset(row, v)
	}
	node.Report(l.Reporter, c)
	return graph.Success
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
				sum := &l.dMatrix[r*l.in+i]
				*sum = node.DotBack(*sum, d.Row(r), x.Row(r/l.out*l.in+i))
			}
		}
	}
	if b.DParam[1].Sum != nil {
		for r := range d.B * l.out {
			l.dBias[r] = node.SumBack(l.dBias[r], d.Row(r))
		}
	}
	node.Report(l.Reporter, &b.Call)
	return graph.Success
}

func (l *linear[F]) FinishAdjoint(p []node.Grad[F]) {
	node.AddFolded(p[0].Sum, l.dMatrix)
	node.AddFolded(p[1].Sum, l.dBias)
	clear(l.dMatrix)
	clear(l.dBias)
}
