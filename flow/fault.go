package flow

import (
	"fmt"
	"iter"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Policy says what happens when a node returns an error.
type Policy int

// The policies. In each case the outputs of that call are zero and an event is
// recorded.
const (
	Stop   Policy = iota // the block ends with an error, and so does the stream
	Mute                 // the stream goes on with the zeros
	Bypass               // it goes on with the node's first input, if that has the output's shape
)

var policyNames = []string{"stop", "mute", "bypass"}

// String returns the policy's name.
func (p Policy) String() string { return policyNames[p] }

// A Scan says where NaN and infinities are looked for. A block with one becomes
// zeros, and the node that made it starts anew.
type Scan int

// The places.
const (
	ScanSinks Scan = iota // in what probes take
	ScanOff
	ScanAll // in every output
)

var scanNames = []string{"sinks", "off", "all"}

// String returns the name of the place.
func (s Scan) String() string { return scanNames[s] }

// An Event is something that went wrong with one node in one block.
type Event struct {
	Block int64
	Node  int // index in the plan
	Port  int // output
	Frame int64
	Code  graph.Code
}

// eventsKept is how many events wait to be read; later ones are counted.
const eventsKept = 256

// faults are the events that nobody has read yet. Writing one stores no
// pointer.
type faults struct {
	ring    [eventsKept]Event
	n, read int64
	lost    int64
}

func (f *faults) add(e Event) {
	if f.n-f.read == eventsKept {
		f.lost++
		return
	}
	f.ring[f.n%eventsKept] = e
	f.n++
}

// Events yields the events since it was last called, oldest first.
func (s *Session[F]) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		f := &s.faults
		for f.read < f.n {
			e := f.ring[f.read%eventsKept]
			f.read++
			if !yield(e) {
				return
			}
		}
	}
}

// LostEvents is the number of events that came while none were read and there
// was no more room.
func (s *Session[F]) LostEvents() int64 { return s.faults.lost }

// A RunError says that a session stopped: which node, when and why.
type RunError struct {
	Code  graph.Code
	Node  string // "" when it is no single node's fault
	Block int64
	Text  string
}

func (e *RunError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("flow: block %d: %s (%v)", e.Block, e.Text, e.Code)
	}
	return fmt.Sprintf("flow: block %d: node %s: %s (%v)", e.Block, e.Node, e.Text, e.Code)
}

// explain makes an error of the code with which a block ended.
func (s *Session[F]) explain(code graph.Code) error {
	e := &RunError{Code: code, Block: s.block, Text: "the node returned an error; policy mute or bypass would go on"}
	if code == graph.NoMemory {
		e.Text = "a channel is full; [Session.Block] enlarges it, a step may not"
	}
	if f := &s.faults; f.n > 0 {
		if last := f.ring[(f.n-1)%eventsKept]; last.Block == s.block && last.Code == code {
			e.Node = s.procs[last.Node].Name
		}
	}
	return e
}

// judge turns what a node returned into what the session does.
func (s *Session[F]) judge(p *process[F], c *node.Call[F], code graph.Code) graph.Code {
	switch {
	case code == graph.Success:
		if s.opt.Scan == ScanAll {
			s.scan(p, c)
		}
		return code
	case code == graph.Pending && p.Spec.Dynamic:
		c.Produced = 0
		return graph.Success
	case code == graph.End && p.Spec.Dynamic:
		p.ended = true
		return graph.Success
	case code > 0:
		code = graph.Fail
	}
	s.faults.add(Event{Block: s.block, Node: p.Index, Frame: c.Frame0, Code: code})
	for i := range c.Out {
		silence(&c.Out[i])
	}
	if code == graph.Numeric {
		p.inst.Reset()
	}
	switch s.opt.Policy {
	case Stop:
		return code
	case Bypass:
		if len(c.In) > 0 && len(c.Out) > 0 && fit(&c.In[0], &c.Out[0]) {
			copy(c.Out[0].Data[:size(&c.Out[0])], c.In[0].Data)
		}
	}
	return graph.Success
}

func size[F node.Float](t *node.Tensor[F]) int { return t.B * t.C * t.N }

func silence[F node.Float](t *node.Tensor[F]) { clear(t.Data[:size(t)]) }

func fit[F node.Float](a, b *node.Tensor[F]) bool { return a.B == b.B && a.C == b.C && a.N == b.N }

// scan zeroes outputs that hold NaN or infinities and starts their node anew.
func (s *Session[F]) scan(p *process[F], c *node.Call[F]) {
	for i := range c.Out {
		o := &c.Out[i]
		k := odd(o.Data[:size(o)])
		if k < 0 {
			continue
		}
		s.faults.add(Event{Block: s.block, Node: p.Index, Port: i, Frame: c.Frame0*int64(p.Spec.Prod[i]) + int64(k%o.N), Code: graph.Numeric})
		silence(o)
		p.inst.Reset()
	}
}

// odd returns the place of the first number that is not finite, -1 when all
// are.
func odd[F node.Float](x []F) int {
	sum := F(0)
	for _, v := range x {
		sum += v - v
	}
	if sum == 0 {
		return -1
	}
	for i, v := range x {
		if v-v != 0 {
			return i
		}
	}
	return -1
}
