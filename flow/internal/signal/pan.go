package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

func refinePan(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0].C != 1 {
			return nil, node.Mismatch(n, "the input of a Pan has one channel")
		}
		return []graph.Shape{{B: in[0].B, C: 2}}, nil
	}
	return nil
}

// A pan places one channel between two loudspeakers with constant power.
type pan[F node.Float] struct{ node.Reporter }

func newPan[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &pan[F]{node.NewReporter(cfg, 0)}, nil
}

func (p *pan[F]) Reset()                         {}
func (p *pan[F]) Needs() node.Needs              { return node.NeedX }
func (p *pan[F]) ResetAdjoint()                  {}
func (p *pan[F]) FinishAdjoint(g []node.Grad[F]) {}

// sides returns the gains of the left and right channel.
func sides[F node.Float](v F) (left, right F) {
	sin, cos := math.Sincos((float64(v) + 1) * (math.Pi / 4))
	return F(cos), F(sin)
}

func (p *pan[F]) Forward(c *node.Call[F]) graph.Code {
	p.run(c)
	node.Report(p.Reporter, c)
	return graph.Success
}

func (p *pan[F]) run(c *node.Call[F]) {
	x, y, v := &c.In[0], &c.Out[0], &c.Param[0]
	for b := range x.B {
		row, left, right, at := x.Row(b), y.Row(2*b), y.Row(2*b+1), v.Row(b, 1)
		if !v.Framed {
			l, r := sides(at[0])
			dsp.Scale(left, row, l)
			dsp.Scale(right, row, r)
			continue
		}
		for i, s := range row {
			l, r := sides(at[i])
			left[i], right[i] = l*s, r*s
		}
	}
}

func (p *pan[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(p.Reporter, c, func() { p.run(c) })
}

func (p *pan[F]) Backward(b *node.Back[F]) graph.Code {
	d, x, v, want := &b.DOut[0], &b.In[0], &b.Param[0], &b.DParam[0]
	for k := range x.B {
		left, right, at, s := d.Row(2*k), d.Row(2*k+1), v.Row(k, 1), x.Row(k)
		l, r := sides(at[0])
		for i := len(left) - 1; i >= 0; i-- {
			if v.Framed {
				l, r = sides(at[i])
			}
			if b.DIn[0].Data != nil {
				b.DIn[0].Data[k*b.DIn[0].N+i] = F(l*left[i]) + r*right[i]
			}
			turn := F(F(l*right[i])-F(r*left[i])) * s[i] * (math.Pi / 4)
			switch {
			case want.Framed.Data != nil:
				want.Framed.Data[k*want.Framed.N+i] = turn
			case want.Sum != nil:
				want.Sum[k] += float64(turn)
			}
		}
	}
	node.Report(p.Reporter, &b.Call)
	return graph.Success
}
