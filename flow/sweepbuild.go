package flow

import (
	"fmt"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// adjointHeatParam is the parameter that says what a node's frames cost. It has no
// gradient.
const adjointHeatParam = "thermo.heat"

// newAdjointSweep prepares a sweep over the nodes of a graph whose calls j records. params
// holds each parameter before modulation; inst is nil for nodes that the host
// serves. heat receives the report of each backward call.
func newAdjointSweep[F node.Float](l *graph.Linked, inst []node.Instance[F], params [][]node.Tensor[F], j *callJournal[F], wantParams bool, heat func(v int, joules float64)) *adjointSweep[F] {
	s := &adjointSweep[F]{linked: l, nodes: make([]nodeSweep[F], len(l.Nodes)), edges: make([]reverse[F], len(l.Edges)),
		cursor: make([]int64, len(l.Edges)), heat: heat}
	for e := range s.edges {
		sh := l.Nodes[l.Edges[e].Src].OutShape[l.Edges[e].SrcPort]
		s.edges[e].rows = sh.B * sh.C
	}
	for v := range l.Nodes {
		p, n := &l.Nodes[v], &s.nodes[v]
		n.keep, n.base, n.auto = j.keep[v], params[v], make([]*automation, len(params[v]))
		if p.PDC == "trim" {
			n.trim = int64(p.DeclaredDelay)
		}
		a, ok := adjointOf(p, inst[v])
		switch {
		case p.Spec.Endpoint == graph.Taken:
			n.role = roleProbe
		case p.Spec.Endpoint == graph.Fed:
			n.role = roleInput
		case ok:
			n.role, n.adj = roleCalled, a
		case len(p.In) == 0 && !p.Spec.Adjoint:
			n.role = roleSilent
		default:
			n.role = roleZero
		}
		for i := range p.Spec.Params {
			n.sums = append(n.sums, newSum(p, &p.Spec.Params[i], wantParams))
		}
		b := &n.back
		b.In, b.Out = make([]node.Tensor[F], len(p.In)), make([]node.Tensor[F], len(p.Out))
		b.DIn, b.DOut = make([]node.Tensor[F], len(p.In)), make([]node.Tensor[F], len(p.Out))
		b.Param, b.DParam = make([]node.Param[F], len(n.base)), make([]node.Grad[F], len(n.base))
		n.mods, n.steps = make([]node.Tensor[F], len(p.Mods)), make([]node.Tensor[F], len(p.Mods))
	}
	return s
}

// Time makes the sweep report the duration of each backward call to took, in
// nanoseconds by the clock now.
func (s *adjointSweep[F]) Time(now func() int64, took func(v int, ns int64)) {
	s.now, s.took = now, took
}

func newSum(p *graph.LinkedNode, spec *graph.ParamSpec, want bool) []float64 {
	switch {
	case !want || spec.Name == adjointHeatParam:
		return nil
	case spec.Table:
		return make([]float64, len(spec.Value.Data))
	}
	return make([]float64, p.Rows.B*p.Rows.C*spec.Value.F)
}

// Unsupported reports whether the sweep stops at the node: it has no adjoint,
// or returned Unsupported when it was called.
func (s *adjointSweep[F]) Unsupported(v int) bool {
	return s.nodes[v].role == roleZero || s.nodes[v].gone
}

// Seed sets the gradient of a probe's frames, [B, C, frames]. The sweep reads
// it in place.
func (s *adjointSweep[F]) Seed(v int, g node.Tensor[F]) error {
	sh := s.linked.Nodes[v].InShape[0]
	if g.B != sh.B || g.C != sh.C || len(g.Data) < g.B*g.C*g.N {
		n := &s.linked.Nodes[v]
		return &graph.Error{Code: graph.BadShape, Path: n.Path, Names: []string{n.Name},
			Text: fmt.Sprintf("a gradient of shape [%d, %d, %d] and %d numbers for a probe of [%d, %d]", g.B, g.C, g.N, len(g.Data), sh.B, sh.C)}
	}
	s.nodes[v].seed = g
	return nil
}

// Input returns where the gradient of an Input's frames is written, [B, C,
// frames], in room if that is large enough. Call it before Replay, which writes
// all of it.
func (s *adjointSweep[F]) Input(v int, frames int64, room []F) node.Tensor[F] {
	sh := s.linked.Nodes[v].OutShape[0]
	n, size := &s.nodes[v], sh.B*sh.C*int(frames)
	if cap(room) < size {
		room = make([]F, size)
	}
	n.seed = node.Tensor[F]{Data: room[:size], B: sh.B, C: sh.C, N: int(frames)}
	return n.seed
}

// Param returns the gradient of a parameter in its own shape, nil if it was not
// requested. Call Finish first.
func (s *adjointSweep[F]) Param(v, i int) []float64 {
	sum, spec, n := s.nodes[v].sums[i], &s.linked.Nodes[v].Spec.Params[i], &s.linked.Nodes[v]
	switch {
	case sum == nil:
		return nil
	case spec.Table:
		return slices.Clone(sum)
	}
	return reduce(sum, n.Rows, &spec.Value)
}

// Finish ends a sweep: nodes add the sums that they kept themselves.
func (s *adjointSweep[F]) Finish() {
	for v := range s.nodes {
		n, p := &s.nodes[v], &s.linked.Nodes[v]
		if n.role != roleCalled || n.gone {
			continue
		}
		for i := range n.back.DParam {
			n.back.DParam[i] = node.Grad[F]{}
			if !s.framed(n, p, i) {
				n.back.DParam[i].Sum = n.sums[i]
			}
		}
		n.adj.FinishAdjoint(n.back.DParam)
	}
}

// framed reports whether a parameter has one value per frame.
func (s *adjointSweep[F]) framed(n *nodeSweep[F], p *graph.LinkedNode, i int) bool {
	return !p.Spec.Params[i].Table && (n.base[i].N > 1 || n.auto[i] != nil || s.modulated(p, i))
}

func (s *adjointSweep[F]) modulated(p *graph.LinkedNode, param int) bool {
	return slices.ContainsFunc(p.Mods, func(e int) bool { return s.linked.Edges[e].Param == param })
}

// Firings returns the number of calls replayed since Start.
func (s *adjointSweep[F]) Firings() int { return s.fired }

// EdgeBytes returns the largest number of bytes of gradients that were queued
// between nodes.
func (s *adjointSweep[F]) EdgeBytes() int64 { return s.peak }
