package signal

// The nodes where a graph meets its host: Input, Probe, Constant.

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

func refineInput(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	sourceShape(s, spec)
	spec.SourceNum, spec.SourceDen = s.Int("rate_num"), s.Int("rate_den")
	return nil
}

// An endpoint is an Input or another source, whose output the host has filled in before the call,
// or a Probe or another sink, whose input the host reads after it.
type endpoint[F node.Float] struct{ node.Reporter }

func newEndpoint[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &endpoint[F]{node.NewReporter(cfg, 0)}, nil
}

func (e *endpoint[F]) Reset() {}

func (e *endpoint[F]) Forward(c *node.Call[F]) graph.Code {
	node.Report(e.Reporter, c)
	return graph.Success
}

// refineConstant sizes the output as the settings say, or as the value.
func refineConstant(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	v := &spec.Params[0].Value
	shape := graph.Shape{B: max(s.Int("batches"), v.B), C: max(s.Int("channels"), v.C)}
	spec.Shapes = func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{shape}, nil }
	return nil
}

type constant[F node.Float] struct{ node.Reporter }

func newConstant[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return &constant[F]{node.NewReporter(cfg, 0)}, nil
}

func (k *constant[F]) Reset() {}

func (k *constant[F]) Forward(c *node.Call[F]) graph.Code {
	k.run(c)
	node.Report(k.Reporter, c)
	return graph.Success
}

func (k *constant[F]) run(c *node.Call[F]) {
	y, p := &c.Out[0], &c.Param[0]
	for r := range y.B * y.C {
		row, v := y.Row(r), p.Row(r, y.C)
		if p.Framed {
			copy(row, v)
			continue
		}
		for i := range row {
			row[i] = v[0]
		}
	}
}

func (k *constant[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(k.Reporter, c, func() { k.run(c) })
}
