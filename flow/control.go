package flow

import (
	"fmt"
	"slices"

	"atenia/flow/graph"

	"atenia/flow/node"
)

// Control returns the control tokens accepted so far. Together with the frames they are the session's complete input:
// played to another session of the same plan with [Session.Play] they give the same bits.
func (s *Session[F]) Control() []ControlToken {
	return append(slices.Clone(s.applied), s.cueLog()...)
}

// Play queues tokens, each for the start of its block. A token for a block that has already run is an error of code
// [graph.State].
func (s *Session[F]) Play(tokens []ControlToken) error {
	for _, t := range tokens {
		if t.Cue != nil {
			if err := s.Post(*t.Cue); err != nil {
				return err
			}
			continue
		}
		if t.Block < s.block {
			return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("the token %q is for a block that has already run", t)}
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
		s.queued = append(s.queued, t)
	}
	slices.SortStableFunc(s.queued, func(a, b ControlToken) int { return int(a.Block - b.Block) })
	return nil
}

// OpenGate opens a host gate for future blocks, counted from the start of the stream. Barrier, tempo and thermal gates
// open by themselves and cannot be opened.
func (s *Session[F]) OpenGate(id int, blocks ...int64) error {
	i := slices.IndexFunc(s.gates, func(g *gate) bool { return g.ID == id && g.Kind != graph.Tempo && g.Kind != graph.Thermal })
	if i < 0 {
		return &graph.Error{Code: graph.InvalidArg, Path: s.link.Plan.Root + ".gates", Text: fmt.Sprintf("no host gate %d", id)}
	}
	g := s.gates[i]
	for _, k := range blocks {
		if at, there := slices.BinarySearch(g.blocks, k); !there {
			g.blocks = slices.Insert(g.blocks, at, k)
			s.applied = append(s.applied, ControlToken{Block: k, Gate: id})
		}
	}
	return nil
}

// Set gives a parameter new values from the next block on. There must be as many values as the default has, in the
// same shape, or k times as many frames: block i then uses the i-th portion, and the last one stays. A stream with a
// parameter set in its middle cannot be swept backward.
func (s *Session[F]) Set(nodeName, param string, values []float64) error {
	if values == nil {
		values = []float64{}
	}
	return s.accept(ControlToken{Block: s.block, Node: nodeName, Param: param, Values: values})
}

// Clear returns a parameter to its default from the next block on.
func (s *Session[F]) Clear(nodeName, param string) error {
	return s.accept(ControlToken{Block: s.block, Node: nodeName, Param: param})
}

func (s *Session[F]) accept(t ControlToken) error {
	p, i, err := s.override(t.Node, t.Param, t.Values)
	if err != nil {
		return err
	}
	s.applied = append(s.applied, t)
	s.syncCounts()
	pm, values := &p.params[i], t.Values
	if values == nil {
		values = p.Spec.Params[i].Value.Data
	}
	pm.Stage(values, s.block)
	if !slices.Contains(s.staged, pm) {
		s.staged = append(s.staged, pm)
	}
	s.recountHeat(p)
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

// applyControl applies the tokens of this block.
func (s *Session[F]) applyControl() error {
	s.staged = slices.DeleteFunc(s.staged, func(p *paramValue[F]) bool { return !p.Turn(s.block) })
	for len(s.queued) > 0 && s.queued[0].Block <= s.block {
		t := s.queued[0]
		s.queued = s.queued[1:]
		if err := s.accept(t); err != nil {
			return err
		}
	}
	return nil
}

// recountHeat binds the heat of a node's calls again after a parameter changed.
func (s *Session[F]) recountHeat(p *process[F]) {
	for i := range s.static.constant {
		if r := &s.static.constant[i]; r.proc == p.Index {
			r.joules = node.HeatOf(r.call)
		}
	}
}
