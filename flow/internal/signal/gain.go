package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A gain multiplies by a parameter.
type gain[F node.Float] struct {
	node.Reporter
	sums []dsp.Lanes // gradient of a constant gain, by row
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

// A run is consecutive frames that one factor multiplies. The factor is read in
// every call, since the host may change it between calls.
type run[F node.Float] struct {
	y, x []F
	gain *F
}

// runs returns the runs of a call, nil if the gain has a value per frame.
func runs[F node.Float](c *node.Call[F]) (list []run[F]) {
	x, y, p := &c.In[0], &c.Out[0], &c.Param[0]
	if p.Framed {
		return nil
	}
	if n := x.B * x.C * x.N; p.B*p.C == 1 {
		return []run[F]{{y.Data[:n], x.Data[:n], &p.Data[0]}}
	}
	for r := range x.B * x.C {
		list = append(list, run[F]{y.Row(r), x.Row(r), &p.Row(r, x.C)[0]})
	}
	return list
}

func (g *gain[F]) Bind(c *node.Call[F]) func() {
	list := runs(c)
	switch len(list) {
	case 0:
		return node.Bind(g.Reporter, c, func() { scaleRows(&c.Out[0], &c.In[0], &c.Param[0]) })
	case 1:
		return node.Bind(g.Reporter, c, dsp.BindScale(list[0].y, list[0].x, list[0].gain))
	}
	return node.Bind(g.Reporter, c, func() { scaleAll(list) })
}

func scaleAll[F node.Float](list []run[F]) {
	for i := range list {
		dsp.Scale(list[i].y, list[i].x, *list[i].gain)
	}
}

// Fuse concatenates the runs of all nodes.
func (g *gain[F]) Fuse(others []node.Instance[F], calls []*node.Call[F]) (func(), bool) {
	var list []run[F]
	for i, c := range calls {
		part := runs(c)
		if part == nil || c.Param[1].Framed {
			return nil, false
		}
		if i > 0 {
			o, ok := others[i-1].(*gain[F])
			if !ok {
				return nil, false
			}
			node.Report(o.Reporter, c)
		}
		list = append(list, part...)
	}
	node.Report(g.Reporter, calls[0])
	return func() { scaleAll(list) }, true
}

func (g *gain[F]) Needs() node.Needs { return node.NeedX }
func (g *gain[F]) ResetAdjoint()     {}

// Backward gives the input gain times the output's gradient, and the gain the
// input times the output's gradient.
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

func (g *gain[F]) FinishAdjoint(p []node.Grad[F]) {
	for r := range g.sums {
		if p[0].Sum != nil {
			p[0].Sum[r] += g.sums[r].Sum()
		}
	}
	clear(g.sums)
}
