package flow

import (
	"unsafe"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// An entry is one forward call of a node, as a sweep replays it.
type entry[F node.Float] struct {
	frame0 int64 // tokens fired before
	made0  int64 // tokens given out before; less than frame0 after a node that consumes some without output
	tokens int32
	made   int32
	rest   int32 // frames of the first input beyond whole tokens: in a call that drains the node
	block  int32
	heat   float64
	kept   [][]F  // inputs, modulation sources, outputs, as keeps requires
	state0 []byte // the state before the call
}

// keeps says what to record of a node's forward calls: the minimum that its
// backward calls read.
type keeps struct {
	needs node.Needs
	mods  bool   // frames that modulate a parameter
	outs  []bool // by output: the writer's or a reader's adjoint reads it
}

// A callJournal records forward calls, separately for each node: nodes may fire on
// different threads, and a sweep finds its own order.
type callJournal[F node.Float] struct {
	linked *graph.Linked
	keep   []keeps
	logs   []nodeLog[F]
}

type nodeLog[F node.Float] struct {
	fired []entry[F]
	made  int64
	data  callStack[F]
	refs  callStack[[]F]
	state callStack[byte]
	room  [][]F // by output: what Room returned last
}

// newCallJournal decides what to record. Nothing is kept of nodes without an
// adjoint, nor of linear time-invariant nodes whose parameter gradients are not
// requested. inst holds nil for nodes that the host serves.
func newCallJournal[F node.Float](l *graph.Linked, inst []node.Instance[F], params bool) *callJournal[F] {
	j := &callJournal[F]{linked: l, keep: make([]keeps, len(l.Nodes)), logs: make([]nodeLog[F], len(l.Nodes))}
	for v := range l.Nodes {
		n := &l.Nodes[v]
		if a, ok := adjointOf(n, inst[v]); ok {
			j.keep[v] = keeps{needs: a.Needs(), mods: len(n.Mods) > 0}
			if _, keeper := inst[v].(node.Keeper); n.Jacobian() == graph.Toeplitz && !params && !keeper {
				j.keep[v].needs = 0
			}
		}
		j.keep[v].outs, j.logs[v].room = make([]bool, len(n.Out)), make([][]F, len(n.Out))
	}
	for v := range l.Nodes {
		for i := range j.keep[v].outs {
			j.keep[v].outs[i] = j.keep[v].needs&node.NeedY != 0
		}
	}
	for v := range l.Nodes {
		for _, e := range l.Nodes[v].In {
			if j.keep[v].needs&node.NeedX != 0 {
				j.keep[l.Edges[e].Src].outs[l.Edges[e].SrcPort] = true
			}
		}
	}
	return j
}

// adjointOf returns the backward mode of a node, if it may be used: version 1
// of the ABI has no backward calls.
func adjointOf[F node.Float](n *graph.LinkedNode, inst node.Instance[F]) (node.Adjoint[F], bool) {
	if !n.SupportsV2 || !n.Spec.Adjoint {
		return nil, false
	}
	a, ok := inst.(node.Adjoint[F])
	return a, ok
}

// Begin does nothing: a journal does not depend on blocks.
func (j *callJournal[F]) Begin() {}

// Room returns where a call of node v should write n elements of an output: in
// the journal's memory, which saves a copy. Nil: anywhere.
func (j *callJournal[F]) Room(v, output, n int) []F {
	log := &j.logs[v]
	if log.room[output] = nil; j.keep[v].outs[output] {
		log.room[output] = log.data.Push(n)
	}
	return log.room[output]
}

// refer returns the frames of a tensor to be kept: the tensor's own memory if
// output of node src was written to the memory that Room returned, else a copy.
func (j *callJournal[F]) refer(log *nodeLog[F], t *node.Tensor[F], src, output int) []F {
	n := t.B * t.C * t.N
	if r := j.logs[src].room[output]; n > 0 && len(r) >= n && &r[0] == &t.Data[0] {
		return r[:n]
	}
	d := log.data.Push(n)
	copy(d, t.Data)
	return d
}

// Before records the inputs of a call of node v and the state before it; mods
// are the modulation sources, in the order of Mods.
func (j *callJournal[F]) Before(v int, inst node.Instance[F], c *node.Call[F], mods []node.Tensor[F], block int) {
	log, k := &j.logs[v], j.keep[v]
	e := entry[F]{frame0: c.Frame0, made0: log.made, tokens: int32(c.Tokens), block: int32(block)}
	if c.Final && len(c.In) > 0 {
		e.rest = int32(c.In[0].N)
	}
	e.kept = log.refs.Push(len(c.In) + len(mods) + len(c.Out))[:0]
	if k.needs&node.NeedX != 0 {
		for i, in := range j.linked.Nodes[v].In {
			l := &j.linked.Edges[in]
			e.kept = append(e.kept, j.refer(log, &c.In[i], l.Src, l.SrcPort))
		}
	}
	if k.mods {
		for i, in := range j.linked.Nodes[v].Mods {
			l := &j.linked.Edges[in]
			e.kept = append(e.kept, j.refer(log, &mods[i], l.Src, l.SrcPort))
		}
	}
	if s, ok := inst.(node.Stateful[F]); ok && k.needs&node.NeedS0 != 0 {
		e.state0 = log.state.Push(s.StateBytes())
		e.state0 = e.state0[:s.Save(e.state0)]
	}
	log.fired = append(log.fired, e)
}

// After records the outputs of the call. Only nodes of ABI version 2 report
// heat in backward calls, so heat is theirs.
func (j *callJournal[F]) After(v int, c *node.Call[F], heat float64) {
	log := &j.logs[v]
	e := &log.fired[len(log.fired)-1]
	e.heat, e.made = heat, int32(c.Produced)
	log.made += int64(c.Produced)
	if j.keep[v].needs&node.NeedY != 0 {
		for i := range c.Out {
			e.kept = append(e.kept, j.refer(log, &c.Out[i], v, i))
		}
	}
}

// Reset discards all firings and keeps the memory. made says how many tokens
// each node has given out before the next call.
func (j *callJournal[F]) Reset(made func(v int) int64) {
	for v := range j.logs {
		log := &j.logs[v]
		log.made = made(v)
		clear(log.fired)
		log.fired = log.fired[:0]
		log.data.Reset()
		log.refs.Reset()
		clear(log.room)
		log.state.Reset()
	}
}

// Restart discards all firings, and their count.
func (j *callJournal[F]) Restart() { j.Reset(func(int) int64 { return 0 }) }

// Bytes returns the size of the recorded data.
func (j *callJournal[F]) Bytes() (n int64) {
	for v := range j.logs {
		log := &j.logs[v]
		n += int64(len(log.fired)) * int64(unsafe.Sizeof(entry[F]{}))
		n += int64(log.refs.used) * int64(unsafe.Sizeof([]F(nil)))
		n += int64(log.data.used)*int64(unsafe.Sizeof(F(0))) + int64(log.state.used)
	}
	return n
}

// The pieces in which a stack grows, in elements: each is twice the last, so that
// the journal of a small graph takes little.
const (
	leastChunk = 1 << 8
	stackChunk = 1 << 15 // the most, except of one that is pushed at once
)

// A callStack allocates memory that is freed all at once.
type callStack[T any] struct {
	chunks [][]T
	at     int // current chunk
	top    int // elements of it in use
	used   int // elements in use in all
}

// Push returns n uninitialized elements.
func (s *callStack[T]) Push(n int) []T {
	for s.at < len(s.chunks) && s.top+n > len(s.chunks[s.at]) {
		s.at, s.top = s.at+1, 0
	}
	if s.at == len(s.chunks) {
		grow := leastChunk
		if s.at > 0 {
			grow = min(2*len(s.chunks[s.at-1]), stackChunk)
		}
		s.chunks = append(s.chunks, make([]T, max(n, grow)))
		s.top = 0
	}
	p := s.chunks[s.at][s.top : s.top+n : s.top+n]
	s.top += n
	s.used += n
	return p
}

// Used returns the number of elements in use.
func (s *callStack[T]) Used() int { return s.used }

// Reset frees all elements; the memory stays allocated.
func (s *callStack[T]) Reset() { s.at, s.top, s.used = 0, 0, 0 }
