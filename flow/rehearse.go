package flow

import (
	"slices"

	"atenia/flow/graph"
)

// rehearse runs the graph's counts without data until every process fires a whole block in a block. That yields the
// capacity of each channel and the order of calls that repeats from then on. Gates are open; a closed one would only
// fill the channels before it.
func (s *Session[F]) rehearse() error {
	s.dry = true
	longest := int64(len(s.procs)) + 4
	for _, r := range s.readers {
		frames := max(1, int64(s.link.BlockFrames)*r.edge.Rate.Num/r.edge.Rate.Den)
		longest += (r.hold+r.prefill)/frames + 1
	}
	for _, p := range s.procs {
		longest += int64(p.trimmed/max(1, p.Tokens)) + 1
	}
	all := s.channels()
	whole, err := s.rehearseBlocks(longest, all)
	for err == nil && s.enlarged { // again with that room, which the run has from its start
		s.rewind()
		whole, err = s.rehearseBlocks(longest, all)
	}
	if err != nil {
		return err
	}
	if !whole {
		s.starving()
	}
	for _, c := range all {
		spare := c.frames
		if s.procs[c.readers[0].edge.Src].polled {
			spare *= 2 // partial blocks wait where blocks are not passed on whole
		}
		if err := s.resize(c, c.peak+spare); err != nil {
			return err
		}
	}
	s.dry = false
	if whole && s.dice == nil && !s.opt.DisableStatic {
		s.compile()
	}
	s.rewind()
	return nil
}

// rehearseBlocks runs blocks without data, at most so many, and reports whether every process fired whole in the last.
func (s *Session[F]) rehearseBlocks(most int64, all []*channel[F]) (whole bool, err error) {
	s.enlarged = false
	for k := int64(0); k < most && !whole; k++ {
		s.static.order = s.static.order[:0]
		s.rounds(s.order)
		for _, c := range all {
			for _, r := range c.readers { // prefill is zeros only at the start
				c.peak = max(c.peak, int(c.wrote-(r.cursor-r.prefill)))
			}
			if err := s.within(c, int64(c.peak)); err != nil {
				return false, err
			}
		}
		if k == 0 {
			s.static.fromStart = !slices.ContainsFunc(s.procs, func(p *process[F]) bool { return !p.polled && (p.left > 0 || p.trimmed > 0) })
		}
		whole = !slices.ContainsFunc(s.procs, func(p *process[F]) bool { return p.left > 0 })
	}
	return whole, nil
}

// channels returns the channels that have readers.
func (s *Session[F]) channels() []*channel[F] {
	var all []*channel[F]
	for _, p := range s.procs {
		for _, c := range p.out {
			if len(c.readers) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// rewind returns every count to the start of the stream.
func (s *Session[F]) rewind() {
	for _, p := range s.procs {
		p.n0, p.left, p.first, p.ended, p.owed, p.empty, p.drained = 0, p.Tokens, -1, false, 0, false, 0
		for i := range p.waits {
			p.waits[i].cursor = 0
		}
		for _, c := range p.out {
			c.wrote, c.made, c.since = 0, 0, 0
		}
	}
	for _, r := range s.readers {
		r.cursor = 0
	}
	s.block, s.draining, s.stopped, s.until = 0, false, graph.Success, graph.Rat{Den: 1}
	s.static.on = s.static.ready && s.static.fromStart && (s.rec == nil || s.static.recorded != nil)
}
