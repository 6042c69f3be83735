package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

func refineError(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0] != in[1] {
			return nil, node.Mismatch(n, "in and target have different shapes")
		}
		return []graph.Shape{{B: in[0].B, C: 1}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// A squaredError is y = mean over the channels of (in - target)².
type squaredError[F node.Float] struct{ node.Reporter }

func newSquaredError[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &squaredError[F]{node.NewReporter(cfg, 0)}, nil
}

func (e *squaredError[F]) Reset()                       {}
func (e *squaredError[F]) Needs() node.Needs            { return node.NeedX }
func (e *squaredError[F]) ResetAdjoint()                {}
func (e *squaredError[F]) FinishAdjoint([]node.Grad[F]) {}

func (e *squaredError[F]) Forward(c *node.Call[F]) graph.Code {
	x, target := &c.In[0], &c.In[1]
	scale := 1 / F(x.C)
	for b := range x.B {
		y := c.Out[0].Row(b)
		clear(y)
		for ch := range x.C {
			want := target.Row(b*x.C + ch)
			for t, v := range x.Row(b*x.C + ch) {
				d := v - want[t]
				y[t] += F(d*d) * scale
			}
		}
	}
	node.Report(e.Reporter, c)
	return graph.Success
}

func (e *squaredError[F]) Backward(b *node.Back[F]) graph.Code {
	x, target := &b.In[0], &b.In[1]
	scale := 2 / F(x.C)
	for r := range x.B * x.C {
		dy, want := b.DOut[0].Row(r/x.C), target.Row(r)
		for t, v := range x.Row(r) {
			d := F((v-want[t])*dy[t]) * scale
			for k, sign := range [...]F{1, -1} {
				if b.DIn[k].Data != nil {
					b.DIn[k].Row(r)[t] = sign * d
				}
			}
		}
	}
	node.Report(e.Reporter, &b.Call)
	return graph.Success
}
