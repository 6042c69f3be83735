package signal

// Split and Merge: one stream to several by channels, and back.

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

func refineSplit(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	k := s.Int("outputs")
	spec.Outs = numbered("out", k)
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0].C != k {
			return nil, node.Mismatch(n, "a Split has as many outputs as its input has channels")
		}
		out := make([]graph.Shape, k)
		for i := range out {
			out[i] = graph.Shape{B: in[0].B, C: 1}
		}
		return out, nil
	}
	return nil
}

func refineMerge(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Ins, spec.Rows = numbered("in", s.Int("inputs")), node.RowsOfOutput
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		out := graph.Shape{B: in[0].B}
		for _, x := range in {
			if x.B != out.B {
				return nil, node.Mismatch(n, "inputs of a Merge have the same number of batches")
			}
			out.C += x.C
		}
		return []graph.Shape{out}, nil
	}
	return nil
}

// scatter copies the channels of whole to parts, one part after the other.
// Parts without data are skipped.
func scatter[F node.Float](parts []node.Tensor[F], whole *node.Tensor[F]) {
	c0 := 0
	for i := range parts {
		p := &parts[i]
		for r := range p.B * p.C {
			if p.Data != nil {
				copy(p.Row(r), whole.Row(r/p.C*whole.C+c0+r%p.C))
			}
		}
		c0 += p.C
	}
}

// gather is the reverse of scatter.
func gather[F node.Float](whole *node.Tensor[F], parts []node.Tensor[F]) {
	c0 := 0
	for i := range parts {
		p := &parts[i]
		for r := range p.B * p.C {
			copy(whole.Row(r/p.C*whole.C+c0+r%p.C), p.Row(r))
		}
		c0 += p.C
	}
}

type split[F node.Float] struct{ node.Reporter }

func newSplit[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &split[F]{node.NewReporter(cfg, 0)}, nil
}

func (s *split[F]) Reset()                         {}
func (s *split[F]) Needs() node.Needs              { return 0 }
func (s *split[F]) ResetAdjoint()                  {}
func (s *split[F]) FinishAdjoint(p []node.Grad[F]) {}

func (s *split[F]) Forward(c *node.Call[F]) graph.Code {
	s.run(c)
	node.Report(s.Reporter, c)
	return graph.Success
}

func (s *split[F]) run(c *node.Call[F]) {
	scatter(c.Out, &c.In[0])
}

func (s *split[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(s.Reporter, c, func() { s.run(c) })
}

func (s *split[F]) Backward(b *node.Back[F]) graph.Code {
	if b.DIn[0].Data != nil {
		gather(&b.DIn[0], b.DOut)
	}
	node.Report(s.Reporter, &b.Call)
	return graph.Success
}

type merge[F node.Float] struct{ node.Reporter }

func newMerge[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &merge[F]{node.NewReporter(cfg, 0)}, nil
}

func (m *merge[F]) Reset()                         {}
func (m *merge[F]) Needs() node.Needs              { return 0 }
func (m *merge[F]) ResetAdjoint()                  {}
func (m *merge[F]) FinishAdjoint(p []node.Grad[F]) {}

func (m *merge[F]) Forward(c *node.Call[F]) graph.Code {
	m.run(c)
	node.Report(m.Reporter, c)
	return graph.Success
}

func (m *merge[F]) run(c *node.Call[F]) {
	gather(&c.Out[0], c.In)
}

func (m *merge[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(m.Reporter, c, func() { m.run(c) })
}

func (m *merge[F]) Backward(b *node.Back[F]) graph.Code {
	scatter(b.DIn, &b.DOut[0])
	node.Report(m.Reporter, &b.Call)
	return graph.Success
}
