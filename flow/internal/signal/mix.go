package signal

import (
	"strconv"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// numbered returns the port names in0, in1, ….
func numbered(word string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = word + strconv.Itoa(i)
	}
	return names
}

func refineMix(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Ins, spec.Rows = numbered("in", s.Int("inputs")), node.RowsOfOutput
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		out := in[0]
		for _, x := range in {
			out.C = max(out.C, x.C)
		}
		for _, x := range in {
			if x.B != out.B || x.C != 1 && x.C != out.C {
				return nil, node.Mismatch(n, "inputs of a Mix have one channel or all the same number")
			}
		}
		return []graph.Shape{out}, nil
	}
	return nil
}

type mix[F node.Float] struct{ node.Reporter }

func newMix[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &mix[F]{node.NewReporter(cfg, 0)}, nil
}

func (m *mix[F]) Reset() {}

// channel returns the row of x that goes to row r of an output of C channels.
func channel(r, c, inputs int) int {
	if inputs == c {
		return r
	}
	return r / c
}

func (m *mix[F]) Forward(c *node.Call[F]) graph.Code {
	m.run(c)
	node.Report(m.Reporter, c)
	return graph.Success
}

// Bind returns the call as a closure.
func (m *mix[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(m.Reporter, c, func() { m.run(c) })
}

// run adds the inputs in port order.
func (m *mix[F]) run(c *node.Call[F]) {
	y := &c.Out[0]
	for r := range y.B * y.C {
		row := y.Row(r)
		copy(row, c.In[0].Row(channel(r, y.C, c.In[0].C)))
		for i := 1; i < len(c.In); i++ {
			x := &c.In[i]
			dsp.Add(row, row, x.Row(channel(r, y.C, x.C)))
		}
	}
}

func (m *mix[F]) Needs() node.Needs              { return 0 }
func (m *mix[F]) ResetAdjoint()                  {}
func (m *mix[F]) FinishAdjoint(p []node.Grad[F]) {}

// Backward copies the gradient to every input; an input of one channel gets the
// sum over the channels.
func (m *mix[F]) Backward(b *node.Back[F]) graph.Code {
	d := &b.DOut[0]
	for i := range b.DIn {
		g := &b.DIn[i]
		if g.Data == nil {
			continue
		}
		for r := range d.B * d.C {
			row := g.Row(channel(r, d.C, g.C))
			if g.C == d.C || r%d.C == 0 {
				copy(row, d.Row(r))
			} else {
				dsp.Add(row, row, d.Row(r))
			}
		}
	}
	node.Report(m.Reporter, &b.Call)
	return graph.Success
}
