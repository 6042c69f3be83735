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
	kept   []F    // inputs, outputs, modulation sources: what keeps asks for
	state0 []byte // the state before the call
}

// keeps says what the forward calls of one node leave behind. It is the least
// that its backward calls look at.
type keeps struct {
	needs node.Needs
	mods  bool // frames that modulate a parameter
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
	state Stack[byte]
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

// Before notes what a call of node v takes and the state it finds; mods is what
// modulates its parameters, in the order of Mods.
func (j *Journal[F]) Before(v int, inst node.Instance[F], c *node.Call[F], mods []node.Tensor[F], block int) {
	log, k := &j.logs[v], j.keep[v]
	e := entry[F]{frame0: c.Frame0, made0: log.made, tokens: int32(c.Tokens), block: int32(block)}
	n := 0
	if k.needs&node.NeedX != 0 {
		n += elements(c.In)
	}
	if k.mods {
		n += elements(mods)
	}
	if k.needs&node.NeedY != 0 {
		n += elements(c.Out)
	}
	e.kept = log.data.Push(n)[:0]
	if k.needs&node.NeedX != 0 {
		e.kept = appendTensors(e.kept, c.In)
	}
	if k.mods {
		e.kept = appendTensors(e.kept, mods)
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
		e.kept = appendTensors(e.kept, c.Out)
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
		n += int64(log.data.used)*int64(unsafe.Sizeof(F(0))) + int64(log.state.used)
	}
	return n
}

func elements[F node.Float](ts []node.Tensor[F]) (n int) {
	for i := range ts {
		n += ts[i].B * ts[i].C * ts[i].N
	}
	return n
}

func appendTensors[F node.Float](to []F, ts []node.Tensor[F]) []F {
	for i := range ts {
		to = append(to, ts[i].Data[:ts[i].B*ts[i].C*ts[i].N]...)
	}
	return to
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
