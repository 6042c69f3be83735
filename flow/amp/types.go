package amp

import (
	"slices"

	"atenia/flow/amp/internal/abi"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Maker makes instances of the types of a library: a [Library] in this
// process, or one in a child.
type Maker interface {
	New32(cfg node.Config) (node.Instance[float32], error)
	New64(cfg node.Config) (node.Instance[float64], error)
}

// Types returns catalogue entries for the types in a manifest.
func Types(m *Manifest, mk Maker) node.Table {
	var t node.Table
	for i := range m.Nodes {
		t = append(t, entry(&m.Nodes[i], mk))
	}
	return t
}

// The settings that the host itself reads.
const (
	setBatches  = "batches"
	setChannels = "channels"
)

func entry(n *ManifestNode, mk Maker) node.Type {
	t := node.Type{Name: n.Type, Doc: "a node in C", Ins: n.Inputs, Outs: n.Outputs,
		Adjoint: n.Caps&abi.CapBackward != 0,
		// A node without a state cannot hold frames back.
		Dynamic: n.Caps&abi.CapStateless == 0,
		New32:   mk.New32, New64: mk.New64,
	}
	for _, p := range n.Params {
		if p != node.Heat {
			t.Framed = append(t.Framed, node.Default{Name: p})
		}
	}
	for _, name := range []string{setBatches, setChannels} {
		if !slices.Contains(n.Params, name) {
			t.Settings = append(t.Settings, node.Setting{Name: name, Least: 1})
		}
	}
	caps, jacobian := uint32(n.Caps), graph.Jacobian(n.Jacobian)
	t.Refine = func(g *graph.Node, s node.Settings, spec *graph.Spec) error {
		spec.Caps, spec.Jacobian = caps, jacobian
		spec.Adjoint = spec.Adjoint && g.SupportsV2 // ABI version 1 has no backward mode
		outs := len(spec.Outs)
		fixed := graph.Shape{}
		for _, set := range t.Settings {
			if set.Name == setBatches {
				fixed.B = s.Int(setBatches)
			} else {
				fixed.C = s.Int(setChannels)
			}
		}
		spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
			shape := graph.Shape{B: 1, C: 1}
			if len(in) > 0 {
				shape = in[0]
			}
			if fixed.B > 0 {
				shape.B = fixed.B
			}
			if fixed.C > 0 {
				shape.C = fixed.C
			}
			return slices.Repeat([]graph.Shape{shape}, outs), nil
		}
		return nil
	}
	return t
}

// find returns the manifest's entry of a type.
func find(m *Manifest, name string) (*ManifestNode, bool) {
	i := slices.IndexFunc(m.Nodes, func(n ManifestNode) bool { return n.Type == name })
	if i < 0 {
		return nil, false
	}
	return &m.Nodes[i], true
}
