package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

func refineEmbedding(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	table := spec.Params[0].Value
	if n.Param("table") == nil || table.B != 1 {
		return node.Bad(n, "table", "a table is [1, rows, columns]")
	}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		return []graph.Shape{{B: in[0].B, C: in[0].C * table.F}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// An embedding replaces each index by a row of a table. The columns of the
// indices' channels follow one another. An index that is no integer, or names no
// row, is an error of the call: InvalidArg.
type embedding[F node.Float] struct {
	node.Reporter
	rows, columns int
}

func newEmbedding[F node.Float](cfg node.Config) (node.Instance[F], error) {
	table := cfg.Node.Spec.Params[0].Value
	return &embedding[F]{node.NewReporter(cfg, 0), table.C, table.F}, nil
}

// row returns the row that an index names.
func (e *embedding[F]) row(x F) (int, bool) {
	if !(x >= 0 && x < F(e.rows)) {
		return 0, false
	}
	return int(x), F(int(x)) == x
}

func (e *embedding[F]) Forward(c *node.Call[F]) graph.Code {
	x, table := &c.In[0], &c.Param[0]
	for r := range x.B * x.C {
		for t, v := range x.Row(r) {
			i, ok := e.row(v)
			if !ok {
				return graph.InvalidArg
			}
			for k, w := range table.Tensor.Row(i) {
				c.Out[0].Row(r*e.columns + k)[t] = w
			}
		}
	}
	node.Report(e.Reporter, c)
	return graph.Success
}

func (e *embedding[F]) Reset()                       {}
func (e *embedding[F]) Needs() node.Needs            { return node.NeedX }
func (e *embedding[F]) ResetAdjoint()                {}
func (e *embedding[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward adds each frame's gradient to its row of the table, last frame first.
// An index has no derivative.
func (e *embedding[F]) Backward(b *node.Back[F]) graph.Code {
	x := &b.In[0]
	if d := b.DIn[0]; d.Data != nil {
		clear(d.Data[:d.B*d.C*d.N])
	}
	sum := b.DParam[0].Sum
	for t := b.Tokens - 1; t >= 0 && sum != nil; t-- {
		for r := range x.B * x.C {
			i, ok := e.row(x.Row(r)[t])
			if !ok {
				continue // the forward call failed
			}
			for k := range e.columns {
				sum[i*e.columns+k] += float64(b.DOut[0].Row(r*e.columns + k)[t])
			}
		}
	}
	node.Report(e.Reporter, &b.Call)
	return graph.Success
}
