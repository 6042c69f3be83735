package flow

import (
	"fmt"
	"slices"

	"atenia/flow/graph"
)

// channelLimit is the largest capacity of a channel, in frames.
const channelLimit = 1 << 24

// readyLimit is the largest capacity of a plan, in frames, for which there is memory from the start.
const readyLimit = 1 << 16

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
	whole := false
	for k := int64(0); k < longest && !whole; k++ {
		s.static.order = s.static.order[:0]
		s.rounds(s.order)
		for _, c := range all {
			for _, r := range c.readers { // prefill is zeros only at the start
				c.peak = max(c.peak, int(c.wrote-(r.cursor-r.prefill)))
			}
			if err := s.within(c, 0); err != nil {
				return err
			}
		}
		if k == 0 {
			s.static.fromStart = !slices.ContainsFunc(s.procs, func(p *process[F]) bool { return !p.polled && (p.left > 0 || p.trimmed > 0) })
		}
		whole = !slices.ContainsFunc(s.procs, func(p *process[F]) bool { return p.left > 0 })
	}
	if !whole {
		s.starving()
	}
	for _, c := range all {
		spare := c.frames
		if s.procs[c.readers[0].edge.Src].polled {
			spare *= 2 // partial blocks wait where blocks are not passed on whole
		}
		room := c.peak + spare
		for _, r := range c.readers { // a step in real time cannot add it later
			room = max(room, int(min(r.limit, readyLimit)))
		}
		if err := s.resize(c, room); err != nil {
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

// within returns an error if the channel cannot hold more frames more. A capacity of the plan is no error: the writer
// waits.
func (s *Session[F]) within(c *channel[F], more int) error {
	for _, r := range c.readers {
		if r.holds()+int64(more) > channelLimit {
			return &graph.Error{Code: graph.NoMemory, Path: r.edge.Path, Names: []string{s.procs[r.edge.Src].Name, s.procs[r.edge.Dst].Name},
				Text: fmt.Sprintf("the channel would hold more than %d frames", channelLimit)}
		}
	}
	return nil
}

// reserve makes room for a block in every channel. Only channels before a node that did not take its block, and all of
// them while draining, can need it.
func (s *Session[F]) reserve() error {
	for _, p := range s.procs {
		for _, c := range p.out {
			if c.fits(c.frames) {
				continue
			}
			if err := s.within(c, c.frames); err != nil {
				return err
			}
			if err := s.resize(c, int(c.wrote-c.oldest())+c.frames); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewind returns every count to the start of the stream.
func (s *Session[F]) rewind() {
	for _, p := range s.procs {
		p.n0, p.left, p.first, p.ended, p.held, p.empty, p.drained = 0, p.Tokens, -1, false, false, false, 0
		for i := range p.waits {
			p.waits[i].cursor = 0
		}
		for _, c := range p.out {
			c.wrote, c.made = 0, 0
		}
	}
	for _, r := range s.readers {
		r.cursor = 0
	}
	s.block, s.draining, s.stopped, s.fed = 0, false, graph.Success, 0
	s.static.on = s.static.ready && s.static.fromStart && (s.rec == nil || s.static.recorded != nil)
}
