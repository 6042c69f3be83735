package flow

import (
	"fmt"
	"unsafe"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// An adjointSweep replays a journal's firings in reverse and carries gradients from the
// probes to inputs and parameters. Nodes keep their own adjoint state from call
// to call; gradients between nodes are queued in one reverse channel per edge.
// The writer sums the gradients of its readers in edge order, so no sum depends
// on the order of replay.
type adjointSweep[F node.Float] struct {
	linked *graph.Linked
	nodes  []nodeSweep[F]
	edges  []reverse[F]
	cursor []int64 // by edge: the position to which its reader has gone back
	group  int     // blocks between truncations, 0 for none
	heat   func(v int, joules float64)
	now    func() int64 // nil: time is not measured
	took   func(v int, ns int64)
	space  callStack[F]  // of the call under way
	wide   *wideSweep[F] // nil = one thread
	fired  int           // firings replayed
	peak   int64         // peak of the bytes queued in edges
}

// A role says how a sweep treats a node.
type role uint8

const (
	roleCalled role = iota
	roleProbe
	roleInput
	roleSilent // a source without an adjoint: nothing to do
	roleZero   // no adjoint: its inputs get zeros, and it is reported once
)

type nodeSweep[F node.Float] struct {
	role  role
	adj   node.Adjoint[F]
	keep  keeps
	auto  []*automation         // by parameter; nil: no cue changes it
	cues  func(n0 int64, t int) // collects the events of a call in back.Events; nil: the node takes none
	base  []node.Tensor[F]      // parameters before modulation, [B, C, frames of the plan's tensor]
	sums  [][]float64           // gradients of parameters: rows times frames, or a table; nil: not requested
	seed  node.Tensor[F]        // probe: the gradient of its frames; input: the gradient to compute
	block int32                 // of the last firing replayed, -1 before
	trim  int64                 // frames cut off at the start of the outputs

	back  node.Back[F]
	mods  []node.Tensor[F] // modulation sources, in the order of Mods
	steps []node.Tensor[F] // the modulated parameter before each of them
	gone  bool             // the node returned Unsupported
	space *callStack[F]    // of its call
	code  graph.Code       // of its call
	ns    int64            // that its call took
}

// Start prepares the sweep: adjoint states and sums are zeroed. read says how
// many frames each edge's reader has consumed; group is the number of blocks
// between truncations, 0 for none.
func (s *adjointSweep[F]) Start(group int, read func(e int) int64) {
	s.group = group
	for e := range s.edges {
		s.edges[e].start()
		s.cursor[e] = read(e)
	}
	for v := range s.nodes {
		n := &s.nodes[v]
		n.block, n.gone = -1, false
		for _, x := range n.sums {
			clear(x)
		}
		if n.adj != nil {
			n.adj.ResetAdjoint()
		}
	}
	s.peak, s.fired = 0, 0
}

// Replay goes back over all firings of a journal, which must be the latest ones
// not yet replayed, block by block.
func (s *adjointSweep[F]) Replay(j *callJournal[F]) error {
	last := int32(-1)
	left := make([]int, len(s.nodes))
	for v := range j.logs {
		left[v] = len(j.logs[v].fired)
		if left[v] > 0 {
			last = max(last, j.logs[v].fired[left[v]-1].block)
		}
	}
	if s.wide != nil {
		if err := s.replayWide(j, left); err != nil {
			return err
		}
		last = -1
	}
	for k := last; k >= 0; k-- {
		for moved := true; moved; {
			moved = false
			for i := len(s.linked.Order) - 1; i >= 0; i-- {
				v := s.linked.Order[i]
				for left[v] > 0 {
					f := &j.logs[v].fired[left[v]-1]
					if f.block != k || !s.ready(v, f) {
						break
					}
					if err := s.fire(v, f); err != nil {
						return err
					}
					left[v]--
					s.fired++
					moved = true
				}
			}
		}
		s.measure()
	}
	for v, n := range left {
		if n > 0 {
			return &graph.Error{Code: graph.State, Path: s.linked.Nodes[v].Path, Names: []string{s.linked.Nodes[v].Name},
				Text: fmt.Sprintf("%d firings cannot be replayed: the record does not match the graph", n)}
		}
	}
	return nil
}

// ready reports whether all readers of the firing's outputs have gone back to
// where it began.
func (s *adjointSweep[F]) ready(v int, f *entry[F]) bool {
	n := &s.linked.Nodes[v]
	for p, edges := range n.Out {
		for _, e := range edges {
			if s.cursor[e] > s.position(v, p, f)+int64(s.linked.Edges[e].Prefill) {
				return false
			}
		}
	}
	return true
}

func (s *adjointSweep[F]) fire(v int, f *entry[F]) error {
	n := &s.nodes[v]
	s.space.Reset()
	n.space = &s.space
	s.enter(n, f)
	if n.role != roleCalled {
		s.host(v, f)
	} else {
		s.open(v, f)
		if err := s.close(v, f); err != nil {
			return err
		}
	}
	s.settle(v)
	return nil
}

// enter cuts the gradient through time where a group of blocks ends.
func (s *adjointSweep[F]) enter(n *nodeSweep[F], f *entry[F]) {
	if s.group > 0 && n.adj != nil && n.block >= 0 && n.block/int32(s.group) != f.block/int32(s.group) {
		n.adj.ResetAdjoint()
	}
	n.block = f.block
}

// settle frees the buffers of gradients that a node's calls have gone over.
func (s *adjointSweep[F]) settle(v int) {
	for _, edges := range s.linked.Nodes[v].Out {
		for _, e := range edges {
			s.edges[e].settle()
		}
	}
}

// host replays a firing of a node that is not called.
func (s *adjointSweep[F]) host(v int, f *entry[F]) {
	n, l := &s.nodes[v], &s.linked.Nodes[v]
	switch n.role {
	case roleProbe:
		e := l.In[0]
		if int64(f.tokens) == int64(n.seed.N) { // the whole stream in one call: read in place
			s.edges[e].push(n.seed, f.frame0, true)
			s.cursor[e] = f.frame0
			break
		}
		g := s.inGrad(e, n.seed.B, n.seed.C, f)
		for r := range g.B * g.C {
			copy(g.Row(r), n.seed.Row(r)[f.frame0:])
		}
		s.give(e, g, f)
	case roleInput:
		g := s.outGrad(v, 0, f)
		if &g.Data[0] == &n.seed.Data[0] {
			break
		}
		for r := range g.B * g.C {
			copy(n.seed.Row(r)[f.frame0:], g.Row(r))
		}
	case roleZero:
		for p, edges := range l.Out {
			for _, e := range edges {
				s.edges[e].drop(s.position(v, p, f) + int64(s.linked.Edges[e].Prefill))
			}
		}
		s.giveZeros(l, f)
	}
}

// position returns the frame of output p at which a firing's output begins.
func (s *adjointSweep[F]) position(v, p int, f *entry[F]) int64 {
	return max(0, f.made0*int64(s.linked.Nodes[v].Spec.Prod[p])-s.nodes[v].trim)
}

// outGrad returns the gradient of what a firing wrote to output p: the sum over
// the readers in edge order, zero for trimmed frames.
func (s *adjointSweep[F]) outGrad(v, p int, f *entry[F]) node.Tensor[F] {
	l := &s.linked.Nodes[v]
	prod := int64(l.Spec.Prod[p])
	made := int(f.made) * int(prod)
	g := node.Tensor[F]{B: l.OutShape[p].B, C: l.OutShape[p].C, N: made}
	at, skip := s.position(v, p, f), min(max(0, int(s.nodes[v].trim-f.made0*prod)), made)
	if edges := l.Out[p]; len(edges) == 1 && skip == 0 && s.linked.Edges[edges[0]].Dst != v {
		e, from := &s.edges[edges[0]], at+int64(s.linked.Edges[edges[0]].Prefill)
		if d, ok := e.whole(from, made); ok {
			e.drop(from)
			g.Data = d
			return g
		}
	}
	g = s.nodes[v].tensor(g.B, g.C, g.N)
	for i, e := range l.Out[p] {
		s.edges[e].pop(&g, skip, at+int64(s.linked.Edges[e].Prefill), i == 0)
	}
	return g
}

// frames returns how many frames a call read from an edge.
func (s *adjointSweep[F]) frames(e int, f *entry[F]) int {
	l := &s.linked.Edges[e]
	n := int(f.tokens) * l.Cons
	if in := s.linked.Nodes[l.Dst].In; len(in) > 0 && in[0] == e {
		n += int(f.rest)
	}
	return n
}

// inGrad returns where a call writes the gradient of what it read from an edge.
func (s *adjointSweep[F]) inGrad(e, b, c int, f *entry[F]) node.Tensor[F] {
	n := s.frames(e, f)
	if s.last(e, f) {
		return s.nodes[s.linked.Edges[e].Src].seed
	}
	return node.Tensor[F]{Data: s.edges[e].buffer(n), B: b, C: c, N: n}
}

// last reports whether a call's gradient for an edge is the gradient of an
// Input's whole stream: it is then written to its final place.
func (s *adjointSweep[F]) last(e int, f *entry[F]) bool {
	l := &s.linked.Edges[e]
	src := &s.nodes[l.Src]
	return src.role == roleInput && l.Prefill == 0 && len(s.linked.Nodes[l.Src].Out[l.SrcPort]) == 1 && s.frames(e, f) == src.seed.N
}

// give queues the gradient of what a firing read from an edge.
func (s *adjointSweep[F]) give(e int, g node.Tensor[F], f *entry[F]) {
	at := f.frame0 * int64(s.linked.Edges[e].Cons)
	switch {
	case g.Data == nil:
	case s.nodes[s.linked.Edges[e].Src].role == roleSilent: // a writer that never takes it
		s.edges[e].free = append(s.edges[e].free, g.Data)
	default:
		s.edges[e].push(g, at, s.last(e, f))
	}
	s.cursor[e] = at
}

// giveZeros is give for a node without gradients: an edge that has received
// nothing so far needs nothing.
func (s *adjointSweep[F]) giveZeros(l *graph.LinkedNode, f *entry[F]) {
	for _, edges := range [][]int{l.In, l.Mods} {
		for _, e := range edges {
			var g node.Tensor[F]
			if s.edges[e].used {
				g = s.inGrad(e, s.edges[e].rows, 1, f)
				clear(g.Data)
			}
			s.give(e, g, f)
		}
	}
}

// tensor returns zeros that are valid for one firing.
func (n *nodeSweep[F]) tensor(b, c, frames int) node.Tensor[F] {
	d := n.space.Push(b * c * frames)
	clear(d)
	return node.Tensor[F]{Data: d, B: b, C: c, N: frames}
}

// measure updates the peak of the bytes queued in edges.
func (s *adjointSweep[F]) measure() {
	n := int64(0)
	for e := range s.edges {
		n += s.edges[e].bytes
	}
	s.peak = max(s.peak, n*int64(unsafe.Sizeof(F(0))))
}
