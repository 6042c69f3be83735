package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// SourceTypes returns the table of nodes that generate signals from their
// parameters and the position in the stream alone: LFO and Noise. Any part of
// such a signal can be generated again, for a backward sweep or on another
// machine, without what came before.
func SourceTypes() node.Table {
	shape := []node.Setting{{Name: "batches", Least: 1, Value: 1}, {Name: "channels", Least: 1, Value: 1}}
	return node.Table{
		{Name: "LFO", Doc: "y = amplitude wave(phase), not band-limited", Outs: []string{"out"},
			Framed:   []node.Default{{Name: "frequency_hz", Value: 440}, {Name: "amplitude", Value: 1}, {Name: "phase"}},
			Settings: append([]node.Setting{{Name: "kind", Among: waves}}, shape...),
			Refine:   refineSource, New32: newLFO[float32], New64: newLFO[float64]},
		{Name: "Noise", Doc: "amplitude times a function of seed, row and frame", Outs: []string{"out"},
			Framed:   []node.Default{{Name: "amplitude", Value: 1}},
			Settings: append([]node.Setting{{Name: "kind", Among: []string{"white", "gaussian", "pink"}}, {Name: "seed"}}, shape...),
			Refine:   refineSource, New32: newNoise[float32], New64: newNoise[float64]},
	}
}

// refineSource sizes a node's output as its settings say.
func refineSource(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	shape := graph.Shape{B: s.Int("batches"), C: s.Int("channels")}
	spec.Shapes = func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{shape}, nil }
	return nil
}
