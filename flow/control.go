package flow

import (
	"fmt"
	"slices"

	"atenia/flow/control"
	"atenia/flow/graph"
	"atenia/flow/internal/param"
	"atenia/flow/node"
)

// Control returns what the session was told so far.
func (s *Session[F]) Control() []control.Token { return slices.Clone(s.told) }

// Play tells the session tokens, each when its block begins. Those of blocks
// that are over are an error.
func (s *Session[F]) Play(tokens []control.Token) error {
	for _, t := range tokens {
		if t.Block < s.block {
			return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("the token %q comes too late", t)}
		}
		if t.Node == "" {
			if err := s.OpenGate(t.Gate, t.Block); err != nil {
				return err
			}
			continue
		}
		if _, _, err := s.override(t.Node, t.Param, t.Values); err != nil {
			return err
		}
		s.coming = append(s.coming, t)
	}
	slices.SortStableFunc(s.coming, func(a, b control.Token) int { return int(a.Block - b.Block) })
	return nil
}

// OpenGate opens a gate for blocks that are still to come, counted from the
// start of the stream. Barriers, tempo and thermal gates open by themselves and
// cannot be opened.
func (s *Session[F]) OpenGate(id int, blocks ...int64) error {
	i := slices.IndexFunc(s.gates, func(g *gate) bool { return g.ID == id && g.Kind != graph.Tempo && g.Kind != graph.Thermal })
	if i < 0 {
		return &graph.Error{Code: graph.InvalidArg, Path: s.link.Plan.Root + ".gates", Text: fmt.Sprintf("no gate %d that the host opens stands before a node", id)}
	}
	g := s.gates[i]
	for _, k := range blocks {
		if at, there := slices.BinarySearch(g.blocks, k); !there {
			g.blocks = slices.Insert(g.blocks, at, k)
			s.told = append(s.told, control.Token{Block: k, Gate: id})
		}
	}
	return nil
}

// Set gives a parameter other values from the next block on. There must be as
// many as the default has, in the same shape; or k times as many frames, of
// which each block takes one default's length, and the last stays.
func (s *Session[F]) Set(nodeName, param string, values []float64) error {
	if values == nil {
		values = []float64{}
	}
	return s.tell(control.Token{Block: s.block, Node: nodeName, Param: param, Values: values})
}

// Clear gives a parameter its default again.
func (s *Session[F]) Clear(nodeName, param string) error {
	return s.tell(control.Token{Block: s.block, Node: nodeName, Param: param})
}

func (s *Session[F]) tell(t control.Token) error {
	p, i, err := s.override(t.Node, t.Param, t.Values)
	if err != nil {
		return err
	}
	s.told = append(s.told, t)
	s.settle()
	pm, values := &p.params[i], t.Values
	if values == nil {
		values = p.Spec.Params[i].Value.Data
	}
	pm.Stage(values, s.block)
	if !slices.Contains(s.staged, pm) {
		s.staged = append(s.staged, pm)
	}
	s.reheat(p)
	return nil
}

// override checks values for a parameter.
func (s *Session[F]) override(nodeName, param string, values []float64) (*process[F], int, error) {
	p, err := s.find(nodeName, graph.Inner)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(p.Spec.Params, func(x graph.ParamSpec) bool { return x.Name == param })
	if i < 0 {
		return nil, 0, &graph.Error{Code: graph.InvalidArg, Path: p.Path + ".params", Names: []string{nodeName}, Text: "no parameter " + param}
	}
	v := &p.Spec.Params[i].Value
	if k := len(v.Data); values != nil && (len(values) == 0 || len(values)%k != 0 || len(values) > k && p.params[i].Table) {
		return nil, 0, &graph.Error{Code: graph.BadShape, Path: p.Path + ".params", Names: []string{nodeName},
			Text: fmt.Sprintf("shape [%d, %d, %d] for %s, whose default has [%d, %d, %d]", v.B, v.C, len(values)/(v.B*v.C), param, v.B, v.C, v.F)}
	}
	return p, i, nil
}

// hear does what was told for this block.
func (s *Session[F]) hear() error {
	s.staged = slices.DeleteFunc(s.staged, func(p *param.Value[F]) bool { return !p.Turn(s.block) })
	for len(s.coming) > 0 && s.coming[0].Block <= s.block {
		t := s.coming[0]
		s.coming = s.coming[1:]
		if err := s.tell(t); err != nil {
			return err
		}
	}
	return nil
}

// reheat counts the heat of a node's calls anew.
func (s *Session[F]) reheat(p *process[F]) {
	for i := range s.static.constant {
		if r := &s.static.constant[i]; r.proc == p.Index {
			r.joules = node.HeatOf(r.call)
		}
	}
}
