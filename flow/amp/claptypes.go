package amp

import (
	"fmt"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// The settings of a plug-in's node.
const (
	setFrames    = "frames"     // of a process call
	setInputs    = "inputs"     // audio inputs with an edge; 0: the first one, if there is any
	setState     = "state"      // base64
	setStateFile = "state_file" // a path
	setNotes     = "notes"      // a score
)

const (
	defaultFrames = 64
	mostFrames    = 8192
	// exposed is how many parameters a node has at most; see maxRemotePorts of
	// package amp.
	exposed = 48
)

// typeOf returns a plug-in as a node type. It is described when a plan first
// uses it.
func typeOf(p *CLAPPlugin, describe func(id string) (*CLAPPlugin, error), mk Maker) node.Type {
	id := p.ID
	return node.Type{Name: id, Doc: docOf(p),
		Settings: []node.Setting{{Name: setFrames, Least: 1, Most: mostFrames, Value: defaultFrames}, {Name: setInputs, Most: maxPlugPorts},
			{Name: setState, Text: true}, {Name: setStateFile, Text: true}, {Name: setNotes, Text: true}},
		Refine: func(n *graph.Node, s node.Settings, spec *graph.Spec) error {
			d, err := describe(id)
			if err != nil {
				return &graph.Error{Code: graph.Unsupported, Path: n.Path + ".type", Names: []string{n.Name}, Text: err.Error()}
			}
			return refine(d, n, s, spec)
		},
		New32: mk.New32, New64: mk.New64,
	}
}

// docOf is a type's line in a list: who made it, and what its parameters may
// be, if that is known.
func docOf(p *CLAPPlugin) string {
	doc := "CLAP plug-in " + p.Name
	if p.Vendor != "" {
		doc += " by " + p.Vendor
	}
	for i, x := range p.Params {
		if i == exposed {
			doc += fmt.Sprintf(" and %d more", len(p.Params)-i)
			break
		}
		if i == 0 {
			doc += ";"
		} else {
			doc += ","
		}
		doc += fmt.Sprintf(" %s %.6g..%.6g", x.Name, x.Min, x.Max)
	}
	if p.Latency > 0 {
		doc += fmt.Sprintf("; latency %d", p.Latency)
	}
	return doc
}

// inputs returns the audio inputs with an edge.
func inputs(d *CLAPPlugin, s node.Settings) int {
	if n := s.Int(setInputs); n > 0 {
		return n
	}
	return min(1, len(d.Inputs))
}

func refine(d *CLAPPlugin, n *graph.Node, s node.Settings, spec *graph.Spec) error {
	ins := inputs(d, s)
	if ins > len(d.Inputs) {
		return node.Bad(n, setInputs, fmt.Sprintf("%s has %d audio inputs", d.ID, len(d.Inputs)))
	}
	if _, err := ParseCLAPNotes(s.Word(setNotes)); err != nil {
		return node.Bad(n, setNotes, err.Error())
	}
	if s.Word(setNotes) != "" && !d.Notes {
		return node.Bad(n, setNotes, d.ID+" has no input of notes")
	}
	spec.Ins, spec.Outs = portNames(d.Inputs[:ins]), portNames(d.Outputs)
	for _, x := range paramsOf(d, n) {
		p, err := node.TakeParam(n, node.Default{Name: x.Name, Value: x.Default}, false)
		if err != nil {
			return err
		}
		if p.Value.B != 1 || p.Value.C != 1 {
			return node.Bad(n, x.Name, "a plug-in has one value for all channels: [1, 1, frames] wanted")
		}
		last := len(spec.Params) - 1
		spec.Params = append(spec.Params[:last:last], p, spec.Params[last])
	}
	spec.Delay = d.Latency + s.Int(setFrames) - 1
	spec.Rows = func(_, _ []graph.Shape) graph.Shape { return graph.Shape{B: 1, C: 1} }
	spec.Shapes = func(in []graph.Shape) (out []graph.Shape, err error) {
		for i, x := range in {
			if c := d.Inputs[i].Channels; x.B != 1 || x.C != c && x.C != 1 {
				return nil, node.Mismatch(n, fmt.Sprintf("input %s of %s has 1 batch and %d channels, or one channel for all", spec.Ins[i], d.ID, c))
			}
		}
		for _, p := range d.Outputs {
			out = append(out, graph.Shape{B: 1, C: p.Channels})
		}
		return out, nil
	}
	return nil
}

func portNames(list []CLAPPort) []string {
	names := []string{}
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

// paramsOf returns the parameters that a node has: those that the plan gives,
// then the plug-in's first ones, up to exposed. The order is the plug-in's.
func paramsOf(d *CLAPPlugin, n *graph.Node) []CLAPParam {
	if len(d.Params) <= exposed {
		return d.Params
	}
	keep := make([]bool, len(d.Params))
	left := exposed
	for given := range 2 {
		for i := range d.Params {
			if !keep[i] && left > 0 && (given == 1 || n.Param(d.Params[i].Name) != nil) {
				keep[i] = true
				left--
			}
		}
	}
	var list []CLAPParam
	for i, k := range keep {
		if k {
			list = append(list, d.Params[i])
		}
	}
	return list
}
