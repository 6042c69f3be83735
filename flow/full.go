package flow

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/flow/graph"
)

// A channel is full in three ways, and this file has the rule for each.
//
//	capacity_frames of a reader     its writer waits, as a reader waits for frames, until there is room (over). In real time
//	                                an Input cannot wait: its block is lost (keep). Writers that wait for each other: enlarge.
//	the ring, between blocks        it grows (reserve), up to channelLimit, which is an error of the block.
//	the ring, in real time          it cannot grow. The writer goes on and the oldest frames are overwritten: other readers
//	                                have them, and one that comes for them later reads zeros (take). So no reader keeps
//	                                others waiting, and streams have their lengths. Reserve is for hosts that know how long
//	                                they run.

// channelLimit is the largest capacity of a channel, in frames.
const channelLimit = 1 << 24

// readyFrames is for how many base frames a step in real time has room, unless the host reserves more.
const readyFrames = 1 << 16

// within returns an error if a channel cannot hold that many frames.
func (s *Session[F]) within(c *channel[F], frames int64) error {
	if frames <= channelLimit {
		return nil
	}
	r := slices.MinFunc(c.readers, func(a, b *reader[F]) int { return cmp.Compare(a.cursor-a.prefill, b.cursor-b.prefill) })
	return &graph.Error{Code: graph.NoMemory, Path: r.edge.Path, Names: []string{s.procs[r.edge.Src].Name, s.procs[r.edge.Dst].Name},
		Text: fmt.Sprintf("the channel would hold more than %d frames", channelLimit)}
}

// reserve makes room for a block in every channel. Only channels before a node that did not take its block, and all of
// them while draining, can need it.
func (s *Session[F]) reserve() error {
	for _, p := range s.procs {
		for _, c := range p.out {
			frames := c.wrote - c.oldest() + int64(c.frames)
			if len(c.readers) == 0 || frames <= int64(c.ring.Size) {
				continue
			}
			if err := s.within(c, frames); err != nil {
				return err
			}
			if err := s.resize(c, int(frames)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reserve makes room for blocks more blocks in each channel whose frames may have to wait, behind a gate or before a node
// that may give fewer frames than it takes. [Session.Step] then loses none of them in that many blocks, however long the
// gates are closed: the frames are those of [Session.Block]. Without it there is room for 65536 base frames, which a
// graph without gates does not need. A channel has room for 16 million frames at most.
func (s *Session[F]) Reserve(blocks int) error {
	s.syncCounts()
	for _, c := range s.channels() {
		most := int64(0)
		for _, r := range c.readers {
			switch frames := min(int64(max(blocks, 0)), channelLimit)*int64(c.frames) + c.wrote - c.oldest(); {
			case s.static.ready && !s.procs[r.edge.Dst].polled:
			case r.limit > 0:
				most = max(most, min(r.limit, frames))
			default:
				most = max(most, frames)
			}
		}
		if err := s.resize(c, int(min(most+int64(c.frames), channelLimit))); err != nil {
			return err
		}
	}
	return nil
}

// take reads n frames for a process, and notes those that were overwritten.
func (s *Session[F]) take(p *process[F], r *reader[F], dst []F, n, stride int) {
	if lost := min(r.lost(), int64(n)); lost > 0 {
		s.silence()
		s.fault(p, Event{Frame: s.frame(p, 0), Kind: Lost, Code: graph.NoMemory, Edge: r.edge.Index, Capacity: int(lost)})
	}
	r.take(dst, n, stride)
}

// more is the number of frames that t tokens of p add to the channel, for one of its readers.
func (r *reader[F]) more(p *process[F], t int) int64 {
	n := int64(t * p.Spec.Prod[r.edge.SrcPort])
	n -= min(max(int64(p.trimmed)-r.from.made, 0), n)
	if r.edge.Src == r.edge.Dst { // a node reads before it writes
		n -= int64(t * r.cons)
	}
	return n
}

// share is the number of tokens that need room, or frames, before a call of p for t: at the beginning of a block all of
// it, but for a reader in the same cycle.
func (r *reader[F]) share(p *process[F], t int) int {
	if p.left == p.Tokens && !r.edge.Inside {
		return p.Tokens
	}
	return t
}

// room reports whether the channels after a process have room for what t tokens give. A process without it waits, as for
// frames.
func (s *Session[F]) room(p *process[F], t int) bool {
	for _, c := range p.out {
		for _, r := range c.readers {
			if !s.draining && s.over(p, r, t) {
				s.blocked = true
				return false
			}
		}
	}
	return true
}

// over reports whether a call of p for t tokens would exceed the capacity that the plan gives a reader's channel. A
// block begins only if all of it has room outside the cycle, as it begins only if all of its frames from outside are
// there: stopped between two slices, the cycle's prefill would be in pieces on its edges, and none of them a slice.
func (s *Session[F]) over(p *process[F], r *reader[F], t int) bool {
	return r.limit > 0 && r.holds()+r.more(p, r.share(p, t)) > r.limit && !s.procs[r.edge.Dst].ended
}

// enlarge ends a deadlock that capacities of the plan cause: processes that wait for each other in a cycle, some of
// them for room. Of the full channels on such cycles the smallest gets room for one call (T. Parks, Bounded scheduling
// of process networks, 1995; cycles are searched in the whole graph, so that a deadlock of a part is found while the
// rest runs: M. Geilen and T. Basten, Requirements on the execution of Kahn process networks, 2003). A process that
// waits for a gate, or has finished its block, is no part of a cycle: it goes on by itself.
//
//	in ──64──▶ dry ───────────▶ mix     in waits for room (capacity 64), mix for late, late for in:
//	 └───────▶ late ──hold 100──▶┘      the channel dry → mix grows
//
// It returns false if there is none, and in real time, where nothing can grow.
func (s *Session[F]) enlarge() bool {
	if !s.blocked || s.live || s.draining {
		return false
	}
	s.blocked = false
	var least *reader[F]
	for _, p := range s.procs {
		s.reasons(p, func(q int, full *reader[F]) {
			if full != nil && (least == nil || full.limit < least.limit) && s.leads(q, p.Index) {
				least = full
			}
		})
	}
	if least == nil {
		return false
	}
	p := s.procs[least.edge.Src]
	if least.limit = least.holds() + least.more(p, least.share(p, min(p.left, p.slice))); least.limit > channelLimit {
		return false
	}
	s.enlarged = true
	s.faults.add(Event{Block: s.block, Frame: least.from.made, Node: p.Index, Port: least.edge.SrcPort, Kind: Enlarged, Edge: least.edge.Index, Capacity: int(least.limit)})
	return true
}

// reasons calls f for every process that a waiting one waits for: for frames, or for room in the channel of a reader.
func (s *Session[F]) reasons(p *process[F], f func(q int, full *reader[F])) {
	if p.left == 0 || p.ended {
		return
	}
	t := min(p.left, p.slice)
	if p.left == p.Tokens {
		for i := range p.waits {
			if w := &p.waits[i]; w.on.readable(w.cursor, false) < w.frames {
				f(w.on.edge.Src, nil)
			}
		}
	}
	for _, r := range p.all {
		if r.readable(r.cursor, false) < int64(r.share(p, t)*r.cons) {
			f(r.edge.Src, nil)
		}
	}
	for _, c := range p.out {
		for _, r := range c.readers {
			if s.over(p, r, t) {
				f(r.edge.Dst, r)
			}
		}
	}
}

// leads reports whether a process waits for another, directly or through others.
func (s *Session[F]) leads(from, to int) bool {
	clear(s.seen)
	s.stack = append(s.stack[:0], from)
	for len(s.stack) > 0 {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if v == to {
			return true
		}
		if !s.seen[v] {
			s.seen[v] = true
			s.reasons(s.procs[v], func(q int, _ *reader[F]) { s.stack = append(s.stack, q) })
		}
	}
	return false
}

// starving reports the nodes that wait for each other in a cycle until the end of the stream, although all gates are
// open. What is outside of the cycle runs, so that this is no error. It is an event for each cycle, of a node that needs
// more frames at once than a delay of the cycle has, or else of the first one in the plan that waits. Linking refuses
// barriers that wait for their own cycle without a prefill; that one is shorter than the block that a barrier wants, or
// than the token of a node, only counts tell.
func (s *Session[F]) starving() {
	told := make([]bool, len(s.procs))
	for _, delayed := range []bool{true, false} {
		for _, p := range s.procs {
			short := func(r *reader[F], has, need int64) {
				if told[p.Index] || delayed && r.prefill == 0 || has >= need || !s.leads(r.edge.Src, p.Index) {
					return
				}
				for q := range told { // the others of the cycle
					told[q] = told[q] || s.leads(p.Index, q) && s.leads(q, p.Index)
				}
				s.faults.add(Event{Node: p.Index, Kind: Starved, Edge: r.edge.Index, Capacity: int(r.prefill + need - has)})
			}
			if p.left == p.Tokens {
				for i := range p.waits {
					w := &p.waits[i]
					short(w.on, w.on.readable(w.cursor, false), w.frames)
				}
			}
			for _, r := range p.all {
				short(r, r.readable(r.cursor, false), int64(min(p.left, p.slice)*r.cons))
			}
		}
	}
}

// keep notes which Inputs did not give the block that the host fed. In real time that block is lost, which is an event.
func (s *Session[F]) keep(order []*process[F]) {
	for _, p := range order {
		if p.Spec.Endpoint != graph.Fed {
			continue
		}
		switch {
		case p.left < p.Tokens:
			p.owed = 0
		case !s.draining:
			p.owed = p.Tokens
		}
		if p.owed > 0 && s.live {
			p.owed = 0
			s.silence()
			s.fault(p, Event{Frame: p.out[0].made, Kind: Overrun, Code: graph.NoMemory})
		}
	}
}

// Waiting reports whether an Input has not given the block that it was fed, because a channel after it is full
// (capacity_frames in the plan). The block stays in the Input's buffer for [Session.Block] to try again: do not fill
// it with another one. By [Session.Step] no Input waits: what cannot be taken is lost, with an event.
func (s *Session[F]) Waiting(name string) (bool, error) {
	p, err := s.find(name, graph.Fed)
	return err == nil && p.owed > 0, err
}
