package flow

import (
	"math"
	"unsafe"

	"atenia/flow/graph"

	"atenia/flow/node"
)

// A snapshot is the state of a session between two blocks: everything nodes and channels carry from one to the next.
// Blocks recomputed from it give the same bits.
type snapshot[F node.Float] struct {
	block    int64
	draining bool
	procs    []procState
	waits    []int64
	readers  []int64 // cursors
	wrote    []int64 // by channel
	made     []int64 // by channel
	frames   [][]F   // by channel: the frames not yet read by every reader
	states   []byte  // of all nodes, concatenated
}

type procState struct {
	n0, first, drained int64
	ended, empty       bool
	bytes              int // of states
}

// save takes a snapshot.
func (s *Session[F]) save() *snapshot[F] {
	s.syncCounts()
	p := &snapshot[F]{block: s.block, draining: s.draining}
	size := 0
	for _, q := range s.procs {
		if st, ok := q.inst.(node.Stateful[F]); ok {
			size += st.StateBytes()
		}
	}
	p.states = make([]byte, 0, size)
	for _, q := range s.procs {
		n := 0
		if st, ok := q.inst.(node.Stateful[F]); ok {
			at := len(p.states)
			n = st.Save(p.states[at:cap(p.states)])
			p.states = p.states[:at+n]
		}
		p.procs = append(p.procs, procState{n0: q.n0, first: q.first, drained: q.drained, ended: q.ended, empty: q.empty, bytes: n})
		for i := range q.waits {
			p.waits = append(p.waits, q.waits[i].cursor)
		}
		for _, c := range q.out {
			p.wrote, p.made = append(p.wrote, c.wrote), append(p.made, c.made)
			p.frames = append(p.frames, c.unread())
		}
	}
	for _, r := range s.readers {
		p.readers = append(p.readers, r.cursor)
	}
	return p
}

// unread copies the frames that a reader still needs, row by row.
func (c *channel[F]) unread() []F {
	if len(c.readers) == 0 {
		return nil
	}
	from := c.oldest()
	n := int(c.wrote - from)
	out := make([]F, n*c.ring.Rows)
	c.ring.Take(from, c.first(), out, n, n)
	return out
}

// restore returns the session to the snapshot.
func (s *Session[F]) restore(p *snapshot[F]) error {
	s.leave()
	s.block, s.draining, s.stopped = p.block, p.draining, graph.Success
	for e, r := range s.readers {
		r.cursor = p.readers[e]
	}
	states, waits, ch := p.states, p.waits, 0
	for i, q := range s.procs {
		st := p.procs[i]
		q.n0, q.first, q.ended, q.drained, q.empty = st.n0, st.first, st.ended, st.drained, st.empty
		if sf, ok := q.inst.(node.Stateful[F]); ok {
			if code := sf.Load(states[:st.bytes]); code != graph.Success {
				return &graph.Error{Code: code, Path: q.Path, Names: []string{q.Name}, Text: "the node rejected the state that it saved"}
			}
			states = states[st.bytes:]
		}
		for k := range q.waits {
			q.waits[k].cursor, waits = waits[0], waits[1:]
		}
		for _, c := range q.out {
			c.wrote, c.made = p.wrote[ch], p.made[ch]
			c.since = c.wrote
			if frames := p.frames[ch]; len(frames) > 0 {
				n := len(frames) / c.ring.Rows
				c.since -= int64(n)
				c.ring.Put(c.wrote-int64(n), frames, n, n)
			}
			ch++
		}
	}
	for _, g := range s.gates {
		g.next = 0
	}
	return nil
}

// bytes is the size of the snapshot.
func (p *snapshot[F]) bytes() (n int64) {
	for _, f := range p.frames {
		n += int64(len(f)) * int64(unsafe.Sizeof(F(0)))
	}
	return n + int64(len(p.states)) + int64(len(p.procs))*int64(unsafe.Sizeof(procState{})) + 8*int64(len(p.waits)+len(p.readers)+2*len(p.wrote))
}

// snapshots is the recorder that keeps snapshots and the inputs, instead of calls.
type snapshots[F node.Float] struct {
	s      *Session[F]
	every  int64
	first  int64 // the value of every at the start
	slots  int
	sparse bool // every doubles as the stream grows ([EverySqrt])
	points []*snapshot[F]
	feeds  []callStack[F] // by node: the blocks of an Input, [B, C, frames of a block]
	blocks [][][]F
	hot    []bool // by block: thermal gates were closed
	drain  int64  // first block after the end of the stream, -1 before it
}

func newSnapshots[F node.Float](s *Session[F], every, slots int) *snapshots[F] {
	first := int64(max(every, 1))
	if slots > 0 {
		first = math.MaxInt64 / 2 // only the one at the start
	}
	return &snapshots[F]{s: s, every: first, first: first, slots: slots, sparse: slots == 0 && every == EverySqrt, feeds: make([]callStack[F], len(s.procs)),
		blocks: make([][][]F, len(s.procs)), drain: -1}
}

// Begin takes a snapshot when the block is due for one.
func (c *snapshots[F]) Begin() {
	k := c.s.block
	if c.s.thermal.on {
		c.hot = append(c.hot, c.s.thermal.hot)
	}
	if c.s.draining && c.drain < 0 {
		c.drain = k
	}
	if n := len(c.points); n > 0 && k < c.points[n-1].block+c.every {
		return
	}
	c.points = append(c.points, c.s.save())
	if c.sparse && int64(len(c.points)) > 2*c.every {
		c.every *= 2
		kept := c.points[:0]
		for i, p := range c.points {
			if i%2 == 0 {
				kept = append(kept, p)
			}
		}
		clear(c.points[len(kept):])
		c.points = kept
	}
}

// Room returns nil: calls are not kept, so outputs need no other place.
func (c *snapshots[F]) Room(int, int, int) []F { return nil }

// Before does nothing: calls are not kept.
func (c *snapshots[F]) Before(int, node.Instance[F], *node.Call[F], []node.Tensor[F], int) {}

// After keeps what an Input was fed.
func (c *snapshots[F]) After(v int, call *node.Call[F], _ float64) {
	if c.s.procs[v].Spec.Endpoint != graph.Fed {
		return
	}
	o := &call.Out[0]
	to := c.feeds[v].Push(size(o))
	copy(to, o.Data) // without gaps, should it be the end of the stream
	c.blocks[v] = append(c.blocks[v], to)
}

// replay recomputes the blocks after each snapshot, last snapshot first, and sweeps back over them. The session ends
// in the state it was called in.
func (c *snapshots[F]) replay(sweep *adjointSweep[F], j *callJournal[F], report *SweepReport) error {
	s := c.s
	end, meter, rec, events, lost, heat := s.save(), s.meter, s.rec, s.faults.n, s.faults.lost, s.thermal
	defer func() {
		j.Restart()
		s.thermal, s.meter, s.rec, s.faults.n, s.faults.lost = heat, meter, rec, events, lost // recomputation must not count again
	}()
	s.meter = meter.Blank()
	w := walk[F]{snapshots: c, sweep: sweep, journal: j, report: report}
	var err error
	if report.Slots = c.slots; c.slots > 0 && len(c.points) > 0 {
		err = w.revolve(c.points[0], end.block, c.slots-1)
	} else {
		report.Every = int(c.every)
		err = w.segments(end.block)
	}
	if err != nil {
		return err
	}
	for v := range c.feeds {
		report.InputBytes += int64(c.feeds[v].Used()) * int64(unsafe.Sizeof(F(0)))
	}
	return s.restore(end)
}

// again recomputes the blocks from a snapshot up to block to, reporting calls to rec.
func (c *snapshots[F]) again(from *snapshot[F], to int64, rec recorder[F]) error {
	s := c.s
	if err := s.restore(from); err != nil {
		return err
	}
	s.rec = rec
	for s.block < to {
		if s.draining = c.drain >= 0 && s.block >= c.drain; s.draining {
			s.leave()
		}
		for v, blocks := range c.blocks {
			p := s.procs[v]
			if k := int(p.n0) / p.Tokens; k < len(blocks) && (!s.draining || p.n0 < s.last(p)) {
				part := p.call.Out[0]
				to := part
				part.Data, part.N, to.N = blocks[k], len(blocks[k])/(part.B*part.C), p.Tokens
				paste(&to, &part, 0)
				if s.draining {
					p.owed = s.share(p)
				}
			}
		}
		if s.thermal.on {
			s.thermal.hot = c.hot[s.block]
		}
		if err := s.reserve(); err != nil {
			return err
		}
		if code := s.stepFlushed(); code != graph.Success {
			return s.explain(code)
		}
	}
	return nil
}
