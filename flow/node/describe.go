package node

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"atenia/flow/graph"
)

// Heat is the parameter that every node has, the last of every Spec: the joules
// that each frame costs.
const Heat = "thermo.heat"

// maxSetting bounds integer settings that declare no bound: ports, channels,
// factors. It keeps what a plan can make a node allocate within reason.
const maxSetting = 1 << 16

// maxRows bounds batches times channels of a source.
const maxRows = 1 << 16

// Describe returns the spec of a plan's node. Errors are of type
// *[graph.Error]: UnknownNode at the type, Malformed at a setting or parameter.
func (t Table) Describe(n *graph.Node) (*graph.Spec, error) {
	typ, ok := t.Lookup(n.Type)
	if !ok {
		return nil, &graph.Error{Code: graph.UnknownNode, Path: n.Path + ".type", Names: []string{n.Name}, Text: "unknown type " + n.Type}
	}
	s, err := typ.settings(n)
	if err != nil {
		return nil, err
	}
	spec := &graph.Spec{
		Ins: typ.Ins, Outs: typ.Outs, SourceNum: 1, SourceDen: 1,
		Adjoint: typ.Adjoint, Dynamic: typ.Dynamic, Endpoint: typ.Endpoint, Jacobian: typ.Jacobian,
		Shapes: func(in []graph.Shape) ([]graph.Shape, error) {
			out := make([]graph.Shape, len(typ.Outs))
			for i := range out {
				out[i] = graph.Shape{B: 1, C: 1}
				if len(in) > 0 {
					out[i] = in[0]
				}
			}
			return out, nil
		},
	}
	if err := typ.params(n, s, spec); err != nil {
		return nil, err
	}
	if typ.Refine != nil {
		if err := typ.Refine(n, s, spec); err != nil {
			return nil, err
		}
	}
	if len(spec.Ins) == 0 {
		out, err := spec.Shapes(nil)
		if err != nil {
			return nil, err
		}
		for _, shape := range out {
			if shape.B*shape.C > maxRows {
				return nil, Bad(n, "channels", fmt.Sprintf("a source of at most %d rows wanted", maxRows))
			}
		}
	}
	spec.Cons, spec.Prod = ones(spec.Cons, len(spec.Ins)), ones(spec.Prod, len(spec.Outs))
	return spec, nil
}

// RowsOfOutput is a [graph.Spec] Rows function for nodes that join inputs of
// several shapes: parameters broadcast to the first output.
func RowsOfOutput(_, out []graph.Shape) graph.Shape { return out[0] }

// ones returns given, or rates of one frame per token.
func ones(given []int, n int) []int {
	if given != nil {
		return given
	}
	given = make([]int, n)
	for i := range given {
		given[i] = 1
	}
	return given
}

// settings checks a node's settings in the order of the table.
func (t *Type) settings(n *graph.Node) (Settings, error) {
	var s Settings
	for _, want := range t.Settings {
		word, count := "", want.Value
		if want.Among != nil {
			word = want.Among[0]
		}
		if p := n.Param(want.Name); p != nil {
			var ok bool
			if word, count, ok = want.read(p); !ok {
				return s, Bad(n, want.Name, want.wanted())
			}
		}
		s.names, s.words, s.counts = append(s.names, want.Name), append(s.words, word), append(s.counts, count)
	}
	return s, nil
}

// read takes a setting's value from a plan.
func (s *Setting) read(p *graph.Param) (word string, count int, ok bool) {
	if s.Text && p.Text != nil {
		return *p.Text, 0, true
	}
	if s.Text || s.Among != nil {
		if p.Text == nil {
			return "", 0, false
		}
		for _, w := range s.Among {
			if w == *p.Text {
				return w, 0, true
			}
		}
		return "", 0, false
	}
	if p.Value == nil || len(p.Value.Data) == 0 {
		return "", 0, false
	}
	v := p.Value.Data[0]
	if v != math.Trunc(v) || v < float64(s.Least) || v > float64(s.most()) {
		return "", 0, false
	}
	return "", int(v), true
}

func (s *Setting) most() int {
	if s.Most == 0 {
		return maxSetting
	}
	return s.Most
}

func (s *Setting) wanted() string {
	if s.Text {
		return "text wanted"
	}
	if s.Among != nil {
		return "one of " + strings.Join(s.Among, ", ") + " wanted"
	}
	return fmt.Sprintf("integer in %d..%d wanted", s.Least, s.most())
}

// params reads the framed parameters, the tables and the heat from a plan.
func (t *Type) params(n *graph.Node, s Settings, spec *graph.Spec) error {
	framed := t.Framed
	if t.FramedOf != nil {
		framed = t.FramedOf(s)
	}
	for i, list := range [][]Default{framed, t.Tables, {{Heat, 0}}} {
		for _, d := range list {
			p, err := TakeParam(n, d, i == 1)
			if err != nil {
				return err
			}
			spec.Params = append(spec.Params, p)
		}
	}
	return nil
}

// TakeParam returns the parameter as given in the plan, or its default.
func TakeParam(n *graph.Node, d Default, table bool) (graph.ParamSpec, error) {
	spec := graph.ParamSpec{Name: d.Name, Table: table, Value: graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{d.Value}}}
	p := n.Param(d.Name)
	if p == nil {
		return spec, nil
	}
	if p.Value == nil {
		return spec, Bad(n, d.Name, "number or tensor wanted")
	}
	spec.Value = *p.Value
	return spec, nil
}

// Bad returns the error for an invalid setting or parameter of a plan.
func Bad(n *graph.Node, name, text string) error {
	return &graph.Error{Code: graph.Malformed, Path: paramPath(n, name), Names: []string{n.Name}, Text: text}
}

// Mismatch returns the error for a node whose input shapes do not fit.
func Mismatch(n *graph.Node, text string) error {
	return &graph.Error{Code: graph.BadShape, Path: n.Path, Names: []string{n.Name}, Text: text}
}

// paramPath is where a plan writes a parameter.
func paramPath(n *graph.Node, name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return fmt.Sprintf("%s.params[%q]", n.Path, name)
	}
	return n.Path + ".params." + name
}
