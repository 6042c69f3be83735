package flow

import (
	"fmt"
	"iter"
	"sync/atomic"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/dsp"
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

// A Kind says what an event is about.
type Kind int32

// The kinds of events.
const (
	Failed        Kind = iota // the node returned an error
	NotFinite                 // a NaN or an infinity was found
	UnderDeclared             // the node is later than it declares; once a node
	Slow                      // a call took longer than [Options.Limit]
)

var kindNames = []string{"failed", "not finite", "under-declared delay", "slow"}

// String returns the kind in words.
func (k Kind) String() string { return kindNames[k] }

// An Event is something that went wrong with one node in one block.
type Event struct {
	Block int64
	Frame int64 // of the output, counted from the stream's start
	Node  int   // index in the plan
	Port  int   // output
	Kind  Kind
	Code  graph.Code // what the node returned, Numeric when the host found it
}

// eventsKept is how many events wait to be read; later ones are counted.
const eventsKept = 256

// faults are the events that nobody has read yet. Writing one stores no
// pointer. Nodes of one block may run in any order on any thread, so each
// process keeps the event of the block, and they are collected by process.
type faults struct {
	any     uint32 // some process has one; atomic
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

// fault keeps an event of a process until the block ends; of several the first.
func (s *Session[F]) fault(p *process[F], e Event) {
	if !p.faulty {
		e.Block, e.Node = s.block, p.Index
		p.fault, p.faulty = e, true
		atomic.StoreUint32(&s.faults.any, 1)
	}
}

// collect moves the events of a block to those that wait to be read, and
// returns the code with which the block ends.
func (s *Session[F]) collect() graph.Code {
	code := graph.Success
	for _, p := range s.procs {
		if p.faulty {
			s.faults.add(p.fault)
			if p.fault.Kind == Failed && s.opt.Policy == Stop {
				code = min(code, p.fault.Code)
			}
			p.faulty = false
		}
	}
	atomic.StoreUint32(&s.faults.any, 0)
	return code
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
	e := &RunError{Code: code, Block: s.block - 1, Text: "the node returned an error; policy mute or bypass would go on"}
	if code == graph.NoMemory {
		e.Text = "a channel is full; [Session.Block] enlarges it, a step may not"
	}
	if f := &s.faults; f.n > 0 {
		if last := f.ring[(f.n-1)%eventsKept]; last.Block == e.Block && last.Code == code {
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
	s.fault(p, Event{Frame: s.token(p), Kind: Failed, Code: code})
	s.mute(c)
	if code == graph.Numeric {
		p.inst.Reset()
	}
	if s.opt.Policy == Bypass && len(c.In) > 0 && len(c.Out) > 0 && fit(&c.In[0], &c.Out[0]) {
		copy(c.Out[0].Data[:size(&c.Out[0])], c.In[0].Data)
	}
	if s.opt.Policy == Stop {
		return code
	}
	return graph.Success
}

func size[F node.Float](t *node.Tensor[F]) int { return t.B * t.C * t.N }

func silence[F node.Float](t *node.Tensor[F]) { clear(t.Data[:size(t)]) }

func fit[F node.Float](a, b *node.Tensor[F]) bool { return a.B == b.B && a.C == b.C && a.N == b.N }

// token is the first token of the call that p is in. The static list counts its
// blocks together, and calls that are bound know nothing of them.
func (s *Session[F]) token(p *process[F]) int64 {
	if s.static.on && !p.live {
		return p.n0 + s.static.owed*int64(p.Tokens)
	}
	return p.n0
}

// scan zeroes outputs that hold NaN or infinities and starts their node anew.
func (s *Session[F]) scan(p *process[F], c *node.Call[F]) {
	for i := range c.Out {
		o := &c.Out[i]
		k := dsp.NotFinite(o.Data[:size(o)])
		if k < 0 {
			continue
		}
		s.fault(p, Event{Port: i, Frame: s.token(p)*int64(p.Spec.Prod[i]) + int64(k%o.N), Kind: NotFinite, Code: graph.Numeric})
		silence(o)
		p.inst.Reset()
	}
}

// sinks looks at what probes took in this block. When there is a NaN or an
// infinity, the probe gets zeros, and everything before it whose output is not
// finite starts anew; the event names the first of them.
func (s *Session[F]) sinks() {
	for _, p := range s.probes {
		t := s.taken(p)
		k := dsp.NotFinite(t.Data[:size(&t)])
		if k < 0 {
			continue
		}
		s.settle()
		s.still() // a record keeps what there was
		t = s.taken(p)
		found := false
		for _, q := range s.order {
			for i := range q.call.Out {
				o := q.call.Out[i]
				j := dsp.NotFinite(o.Data[:size(&o)])
				if j < 0 {
					continue
				}
				if !found {
					found = true
					s.fault(q, Event{Port: i, Frame: q.out[i].made - int64(o.N) + int64(j%o.N), Kind: NotFinite, Code: graph.Numeric})
				}
				q.out[i].ring.Clear(q.out[i].wrote, o.N)
				silence(&o)
				if q.inst != nil {
					q.inst.Reset()
				}
			}
		}
		if !found {
			s.fault(p, Event{Frame: p.n0 - int64(t.N) + int64(k%t.N), Kind: NotFinite, Code: graph.Numeric})
		}
		silence(&t) // the block of a process, perhaps: its turn comes last
	}
}
