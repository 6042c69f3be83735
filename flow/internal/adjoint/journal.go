package adjoint

import (
	"unsafe"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// An entry is one forward call of a node, as a backward sweep replays it.
type entry[F node.Float] struct {
	frame0 int64 // tokens fired before
	made0  int64 // tokens given out before: less than frame0 behind a node that swallows some
	tokens int32
	made   int32
	block  int32
	heat   float64
	kept   [][]F  // inputs, modulation sources, outputs: what keeps asks for
	state0 []byte // the state before the call
}

// keeps says what the forward calls of one node leave behind. It is the least
// that its backward calls look at.
type keeps struct {
	needs node.Needs
	mods  bool   // frames that modulate a parameter
	outs  []bool // by output: its writer or a reader looks at it
}

// A Journal records forward calls, each node's apart: nodes may be
// fired by different threads, and a sweep finds its own order.
type Journal[F node.Float] struct {
	linked *graph.Linked
	keep   []keeps
	logs   []nodeLog[F]
}

type nodeLog[F node.Float] struct {
	fired []entry[F]
	made  int64
	data  Stack[F]
	refs  Stack[[]F]
	state Stack[byte]
	room  [][]F // by output: what Room gave last
}

// NewJournal decides what to keep. Nothing is kept of nodes that have no
// adjoint, nor of a linear time-invariant one whose parameters' gradients
// nobody wants. inst holds nil for nodes that the host serves itself.
func NewJournal[F node.Float](l *graph.Linked, inst []node.Instance[F], params bool) *Journal[F] {
	j := &Journal[F]{linked: l, keep: make([]keeps, len(l.Nodes)), logs: make([]nodeLog[F], len(l.Nodes))}
	for v := range l.Nodes {
		n := &l.Nodes[v]
		if a, ok := adjointOf(n, inst[v]); ok {
			j.keep[v] = keeps{needs: a.Needs(), mods: len(n.Mods) > 0}
			if n.Spec.Jacobian == graph.Toeplitz && len(n.Mods) == 0 && !params {
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

// adjointOf returns the backward mode of a node, if it has one that may be
// used: version 1 of the interface has no backward calls.
func adjointOf[F node.Float](n *graph.LinkedNode, inst node.Instance[F]) (node.Adjoint[F], bool) {
	if !n.SupportsV2 || !n.Spec.Adjoint {
		return nil, false
	}
	a, ok := inst.(node.Adjoint[F])
	return a, ok
}

// Begin is the start of a block: nothing to do.
func (j *Journal[F]) Begin() {}

// Room returns the place to which a call of node v best writes n elements of an
// output: in the journal's memory, where they need not be copied to. Nil: it
// does not matter.
func (j *Journal[F]) Room(v, output, n int) []F {
	log := &j.logs[v]
	if log.room[output] = nil; j.keep[v].outs[output] {
		log.room[output] = log.data.Push(n)
	}
	return log.room[output]
}

// refer returns the frames of a tensor to be kept: itself, if it lies where Room
// had output of node src written, else a copy.
func (j *Journal[F]) refer(log *nodeLog[F], t *node.Tensor[F], src, output int) []F {
	n := t.B * t.C * t.N
	if r := j.logs[src].room[output]; n > 0 && len(r) >= n && &r[0] == &t.Data[0] {
		return r[:n]
	}
	d := log.data.Push(n)
	copy(d, t.Data)
	return d
}

// Before notes what a call of node v takes and the state it finds; mods is what
// modulates its parameters, in the order of Mods.
func (j *Journal[F]) Before(v int, inst node.Instance[F], c *node.Call[F], mods []node.Tensor[F], block int) {
	log, k := &j.logs[v], j.keep[v]
	e := entry[F]{frame0: c.Frame0, made0: log.made, tokens: int32(c.Tokens), block: int32(block)}
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

// After notes what the call gave. Only nodes of the second interface report
// heat in backward calls, so heat is theirs.
func (j *Journal[F]) After(v int, c *node.Call[F], heat float64) {
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

// Reset forgets all firings and keeps the memory. made says how many tokens each
// node has given out before the next call.
func (j *Journal[F]) Reset(made func(v int) int64) {
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

// Restart forgets all firings, and how many there were.
func (j *Journal[F]) Restart() { j.Reset(func(int) int64 { return 0 }) }

// Bytes is what the journal holds.
func (j *Journal[F]) Bytes() (n int64) {
	for v := range j.logs {
		log := &j.logs[v]
		n += int64(len(log.fired)) * int64(unsafe.Sizeof(entry[F]{}))
		n += int64(log.refs.used) * int64(unsafe.Sizeof([]F(nil)))
		n += int64(log.data.used)*int64(unsafe.Sizeof(F(0))) + int64(log.state.used)
	}
	return n
}

// stackChunk is the size of the pieces in which a stack grows, in elements.
const stackChunk = 1 << 15

// A Stack hands out memory that is given back all at once.
type Stack[T any] struct {
	chunks [][]T
	at     int // the chunk in use
	top    int // elements of it handed out
	used   int // elements handed out in all
}

// Push returns n elements of any value.
func (s *Stack[T]) Push(n int) []T {
	for s.at < len(s.chunks) && s.top+n > len(s.chunks[s.at]) {
		s.at, s.top = s.at+1, 0
	}
	if s.at == len(s.chunks) {
		s.chunks = append(s.chunks, make([]T, max(n, stackChunk)))
		s.top = 0
	}
	p := s.chunks[s.at][s.top : s.top+n : s.top+n]
	s.top += n
	s.used += n
	return p
}

// Used is the number of elements handed out.
func (s *Stack[T]) Used() int { return s.used }

// Reset takes all back; the memory stays.
func (s *Stack[T]) Reset() { s.at, s.top, s.used = 0, 0, 0 }
