package flow

import (
	"fmt"
	"iter"
	"sync/atomic"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
	"atenia/internal/spelling"
)

// A Policy says how a session continues when a node returns an error. Each policy zeroes the outputs of the failed
// call and records an [Event].
type Policy int

// The policies.
const (
	Stop   Policy = iota // end the block with an error; the stream cannot go on
	Mute                 // go on with the zeros
	Bypass               // go on with the node's first input, if it has the output's shape
)

var policyNames = []string{"stop", "mute", "bypass"}

// String returns the policy's name.
func (p Policy) String() string { return policyNames[p] }

// A Scan says where NaN and infinities are searched for. A block that contains one is replaced by zeros, and the node
// that produced it is reset.
//
// Scanning the sinks costs little and finds the culprit afterwards; [ScanAll] costs a pass over every output but keeps
// a NaN from reaching other nodes at all.
type Scan int

// The places to scan.
const (
	ScanSinks Scan = iota // what probes take
	ScanOff
	ScanAll // every output
)

var scanNames = []string{"sinks", "off", "all"}

// String returns the name of the place.
func (s Scan) String() string { return scanNames[s] }

// An EventKind classes events.
type EventKind int32

// The kinds of events.
const (
	Failed        EventKind = iota // the node returned an error
	NotFinite                      // a NaN or an infinity was found
	UnderDeclared                  // the node reports a larger delay than it declares; once per node
	Slow                           // a call exceeded [Options.Limit]
	Enlarged                       // a channel got more room than the plan gives it, which ended a deadlock
	Overrun                        // a block that the host fed in real time was not taken: a channel is full
	Suspended                      // three calls in a row exceeded the limit: the node is not called for a number of blocks
	Resumed                        // it is called again
	Lost                           // in real time frames waited, behind a gate, for longer than there was room: the node reads zeros for them
	Starved                        // a cycle has too few frames for the node, which does not run before the end of the stream; told before the first block
)

var kindNames = []string{"failed", "not finite", "under-declared delay", "slow", "enlarged", "overrun", "suspended", "resumed", "lost", "starved"}

// String returns the kind in words.
func (k EventKind) String() string { return kindNames[k] }

// An Event is a fault of one node in one block.
type Event struct {
	Block          int64
	Frame          int64 // of the output, counted from the start of the stream
	Node           int   // index in the plan
	Port           int   // output
	Kind           EventKind
	Code           graph.Code // as returned by the node; Numeric or Timeout when the session found the fault; Success if none failed
	Delay          int        // frames that the node reported, of UnderDeclared
	Blocks         int        // of Suspended: how long
	Edge, Capacity int        // of Enlarged: index in the plan, and what it holds now, in frames; of Lost: the frames; of Starved: what its delay should be
}

// Reason says what happened and what the session did, without the node's name.
func (e Event) Reason() string {
	switch e.Kind {
	case Failed:
		return fmt.Sprintf("the call failed with %v", e.Code)
	case NotFinite:
		return fmt.Sprintf("NaN or infinity in output %d: the block is silent, the node starts again", e.Port)
	case UnderDeclared:
		return fmt.Sprintf("reports a delay of %s, more than it declares", spelling.Count(e.Delay, "frame"))
	case Slow:
		return "the call exceeded its time limit: the block is silent"
	case Enlarged:
		return fmt.Sprintf("edges[%d] has room for %s now: with the plan's capacity_frames the graph would deadlock", e.Edge, spelling.Count(e.Capacity, "frame"))
	case Suspended:
		return fmt.Sprintf("three calls in a row exceeded the time limit: silent for %s", spelling.Count(e.Blocks, "block"))
	case Resumed:
		return "called again after its suspension"
	case Starved:
		return fmt.Sprintf("does not run before the end of the stream, and neither do the others of its cycle: edges[%d] has fewer frames than it needs at once: set its delay_frames to at least %d", e.Edge, e.Capacity)
	case Lost:
		return fmt.Sprintf("%s of edges[%d] are silent: they waited for longer than the channel has room in real time", spelling.Count(e.Capacity, "frame"), e.Edge)
	case Overrun:
		return "the block is lost: a channel after the input is full"
	}
	return e.Kind.String()
}

// eventsKept is the capacity of the event queue; events beyond it are only counted.
const eventsKept = 256

// faults queues events until they are read. Adding one stores no pointer, so it needs no write barrier in real time.
// Nodes of one block may run in any order on any thread: each process keeps its own event of the block, and collect
// gathers them in process order, which keeps the queue deterministic.
type faults struct {
	any     uint32 // some process has an event; atomic
	silent  uint32 // some output of this block was replaced by zeros; atomic
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

// fault keeps the first event of a process until the block ends.
func (s *Session[F]) fault(p *process[F], e Event) {
	if !p.faulty {
		e.Block, e.Node = s.block, p.Index
		p.fault, p.faulty = e, true
		atomic.StoreUint32(&s.faults.any, 1)
	}
}

// collect moves the events of a block to the queue and returns the code with which the block ends.
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

// Events yields the queued events, oldest first, and removes them.
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

// LostEvents is the number of events dropped because the queue was full. Read [Session.Events] at least once per 256
// events to lose none.
func (s *Session[F]) LostEvents() int64 { return s.faults.lost }

// A RunError says which node stopped a session, in which block, and why.
type RunError struct {
	Code  graph.Code
	Node  string // "" if no single node is at fault
	Block int64
	Text  string
}

// Error implements error.
func (e *RunError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("flow: block %d: %s (%v)", e.Block, e.Text, e.Code)
	}
	return fmt.Sprintf("flow: block %d: node %s: %s (%v)", e.Block, e.Node, e.Text, e.Code)
}

// explain makes an error of the code with which a block ended.
func (s *Session[F]) explain(code graph.Code) error {
	e := &RunError{Code: code, Block: s.block - 1, Text: "the node returned an error; policy mute or bypass continues"}
	if f := &s.faults; f.n > 0 {
		if last := f.ring[(f.n-1)%eventsKept]; last.Block == e.Block && last.Code == code {
			e.Node = s.procs[last.Node].Name
		}
	}
	return e
}

// applyPolicy turns the code that a node returned into the session's, by [Options.Policy].
func (s *Session[F]) applyPolicy(p *process[F], c *node.Call[F], code graph.Code) graph.Code {
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
	s.fault(p, Event{Frame: s.frame(p, 0), Kind: Failed, Code: code})
	if code == graph.Numeric {
		p.inst.Reset()
	}
	if s.opt.Policy == Bypass && len(c.In) > 0 && len(c.Out) > 0 && sameShape(&c.In[0], &c.Out[0]) {
		for i := range c.Out[1:] {
			zero(&c.Out[1+i])
		}
		copy(c.Out[0].Data[:size(&c.Out[0])], c.In[0].Data)
	} else {
		s.mute(c)
	}
	if s.opt.Policy == Stop {
		return code
	}
	return graph.Success
}

func size[F node.Float](t *node.Tensor[F]) int { return t.B * t.C * t.N }

func zero[F node.Float](t *node.Tensor[F]) { clear(t.Data[:size(t)]) }

func sameShape[F node.Float](a, b *node.Tensor[F]) bool {
	return a.B == b.B && a.C == b.C && a.N == b.N
}

// token is the first token of p's current call. The static list counts its blocks together, so n0 lags behind there.
func (s *Session[F]) token(p *process[F]) int64 {
	if s.static.on && !p.live {
		return p.n0 + s.static.unsynced*int64(p.Tokens)
	}
	return p.n0
}

// frame is the first frame that p's current call gives at an output.
func (s *Session[F]) frame(p *process[F], port int) int64 {
	switch {
	case port >= len(p.out):
		return s.token(p)
	case p.Spec.Dynamic:
		return p.out[port].made
	}
	return s.token(p) * int64(p.Spec.Prod[port])
}

// notFinite returns the place in each row of the first NaN or infinity among the frames that a call produced, -1 if
// there is none. A call that gave fewer frames than it was offered leaves the end of its rows as it was.
func notFinite[F node.Float](p *process[F], c *node.Call[F], port int) int {
	o := &c.Out[port]
	if !p.Spec.Dynamic || c.Produced*p.Spec.Prod[port] == o.N {
		if k := dsp.NotFinite(o.Data[:size(o)]); k >= 0 {
			return k % o.N
		}
		return -1
	}
	for r := range o.B * o.C {
		if k := dsp.NotFinite(o.Row(r)[:c.Produced*p.Spec.Prod[port]]); k >= 0 {
			return k
		}
	}
	return -1
}

// scan zeroes outputs that hold NaN or infinities and resets their node.
func (s *Session[F]) scan(p *process[F], c *node.Call[F]) {
	for i := range c.Out {
		k := notFinite(p, c, i)
		if k < 0 {
			continue
		}
		s.fault(p, Event{Port: i, Frame: s.frame(p, i) + int64(k), Kind: NotFinite, Code: graph.Numeric})
		s.silence()
		zero(&c.Out[i])
		p.inst.Reset()
	}
}

// silence notes that an output of this block was replaced by zeros.
func (s *Session[F]) silence() { atomic.StoreUint32(&s.faults.silent, 1) }

// sinks scans what probes took in this block. On a NaN or an infinity the probe gets zeros, and every upstream node
// with a non-finite output is reset; the event names the first of them.
func (s *Session[F]) sinks() {
	for _, p := range s.probes {
		t := s.taken(p)
		k := dsp.NotFinite(t.Data[:size(&t)])
		if k < 0 {
			continue
		}
		s.syncCounts()
		s.copyBack() // the record keeps the original frames
		s.silence()
		t = s.taken(p)
		found := false
		for _, q := range s.order {
			for i := range q.call.Out {
				o := q.call.Out[i]
				j := notFinite(q, &q.call, i)
				if j < 0 {
					continue
				}
				if !found {
					found = true
					made := o.N
					if q.Spec.Dynamic {
						made = q.call.Produced * q.Spec.Prod[i]
					}
					s.fault(q, Event{Port: i, Frame: q.out[i].made - int64(made) + int64(j), Kind: NotFinite, Code: graph.Numeric})
				}
				q.out[i].ring.Clear(q.out[i].wrote, o.N)
				zero(&o)
				if q.inst != nil {
					q.inst.Reset()
				}
			}
		}
		if !found {
			s.fault(p, Event{Frame: p.n0 - int64(t.N) + int64(k%t.N), Kind: NotFinite, Code: graph.Numeric})
		}
		zero(&t) // may be a block of a process; reset last
	}
}
