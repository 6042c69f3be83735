package basic

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

type gain[F node.Float] struct{ node.Reporter }

func newGain[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &gain[F]{node.NewReporter(cfg, 0)}, nil
}

func (g *gain[F]) Reset() {}

func (g *gain[F]) Forward(c *node.Call[F]) graph.Code {
	scaleRows(&c.Out[0], &c.In[0], &c.Param[0])
	node.Report(g.Reporter, c)
	return graph.Success
}

// scaleRows multiplies the rows of x by a parameter.
func scaleRows[F node.Float](y, x *node.Tensor[F], p *node.Param[F]) {
	for r := range x.B * x.C {
		v := p.Row(r, x.C)
		if p.Framed {
			node.Mul(y.Row(r), x.Row(r), v)
		} else {
			node.Scale(y.Row(r), x.Row(r), v[0])
		}
	}
}

func (g *gain[F]) Needs() node.Needs              { return node.NeedX }
func (g *gain[F]) ResetAdjoint()                  {}
func (g *gain[F]) FinishAdjoint(p []node.Grad[F]) {}

// Backward: the input's gradient is gain times the output's, the gain's is the
// input times the output's.
func (g *gain[F]) Backward(b *node.Back[F]) graph.Code {
	d, x, want := &b.DOut[0], &b.In[0], &b.DParam[0]
	if b.DIn[0].Data != nil {
		scaleRows(&b.DIn[0], d, &b.Param[0])
	}
	for r := range d.B * d.C {
		switch {
		case want.Framed.Data != nil:
			node.Mul(want.Framed.Row(r), d.Row(r), x.Row(r))
		case want.Sum != nil:
			want.Sum[r] = node.DotBack(want.Sum[r], d.Row(r), x.Row(r))
		}
	}
	node.Report(g.Reporter, &b.Call)
	return graph.Success
}
