package flow

import (
	"fmt"
	"slices"

	"atenia/flow/graph"
)

// Metrics returns the totals of heat, calls, time and delays so far.
func (s *Session[F]) Metrics() Metrics { return s.meter.Report() }

// Fired returns how many tokens a node has fired, and the block in which it did
// so first: -1 if it never did. The node is an index of the plan.
func (s *Session[F]) Fired(v int) (tokens, first int64) { return s.procs[v].n0, s.procs[v].first }

// OpenGate opens a gate for blocks that are still to come, counted from the
// start of the stream. Gates that follow from counts open by themselves: barriers
// and tempo gates cannot be opened.
func (s *Session[F]) OpenGate(id int, blocks ...int64) error {
	for _, g := range s.gates {
		if g.ID == id && g.Kind != graph.Tempo {
			g.blocks = append(g.blocks, blocks...)
			slices.Sort(g.blocks)
			g.blocks = slices.Compact(g.blocks)
			return nil
		}
	}
	return &graph.Error{Code: graph.InvalidArg, Path: s.link.Plan.Root + ".gates", Text: fmt.Sprintf("no gate %d that the host opens stands before a node", id)}
}
