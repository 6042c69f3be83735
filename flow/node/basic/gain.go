package basic

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/dsp"
)

type gain[F node.Float] struct {
	node.Reporter
	sums []dsp.Lanes // [rows]: gradients of a constant gain
}

func newGain[F node.Float](cfg node.Config) (node.Instance[F], error) {
	g := &gain[F]{Reporter: node.NewReporter(cfg, 0)}
	if cfg.Training {
		g.sums = make([]dsp.Lanes, cfg.Node.Rows.B*cfg.Node.Rows.C)
	}
	return g, nil
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
			dsp.Mul(y.Row(r), x.Row(r), v)
		} else {
			dsp.Scale(y.Row(r), x.Row(r), v[0])
		}
	}
}

// Bind takes the shortest way for one row of a constant gain.
func (g *gain[F]) Bind(c *node.Call[F]) func() {
	y, x, p := &c.Out[0], &c.In[0], &c.Param[0]
	run := func() { scaleRows(y, x, p) }
	if x.B*x.C == 1 && !p.Framed {
		run = dsp.BindScale(y.Row(0), x.Row(0), &p.Row(0, 1)[0])
	}
	return bound(g.Reporter, c, run)
}

// bound is the closure of a call: heat that stays is reported once.
func bound[F node.Float](r node.Reporter, c *node.Call[F], run func()) func() {
	node.Report(r, c)
	if !c.Param[len(c.Param)-1].Framed {
		return run
	}
	return func() {
		run()
		node.Report(r, c)
	}
}

func (g *gain[F]) Needs() node.Needs { return node.NeedX }
func (g *gain[F]) ResetAdjoint()     {}

// FinishAdjoint hands out the gradients of a constant gain.
func (g *gain[F]) FinishAdjoint(p []node.Grad[F]) {
	for r := range p[0].Sum {
		p[0].Sum[r] += g.sums[r].Sum()
	}
	clear(g.sums)
}

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
			dsp.Mul(want.Framed.Row(r), d.Row(r), x.Row(r))
		case want.Sum != nil:
			dsp.AddDot(&g.sums[r], d.Row(r), x.Row(r), b.Frame0)
		}
	}
	node.Report(g.Reporter, &b.Call)
	return graph.Success
}
