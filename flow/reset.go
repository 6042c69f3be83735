package flow

// Reset returns the session to the state before its first block: nodes, channels and counts are as [New] made them,
// parameters have the plan's values, and control tokens and measurements are discarded. A record starts again. Use it
// to run another stream without linking and allocating again.
func (s *Session[F]) Reset() {
	s.leave()
	s.rewind()
	for _, p := range s.procs {
		if p.inst != nil {
			p.inst.Reset()
		}
		for i := range p.params {
			p.params[i].Reset(&p.Spec.Params[i])
		}
		s.recountHeat(p)
	}
	for _, g := range s.gates {
		g.blocks, g.next, g.open = g.blocks[:0], 0, false
	}
	s.applied, s.queued, s.staged, s.log = s.applied[:0], s.queued[:0], s.staged[:0], s.log[:0]
	s.dropCues()
	s.dropHeir()
	s.thermal.hot, s.thermal.joules = false, 0
	s.meter.Reset()
	s.watch.Reset()
	if s.rec != nil {
		s.rec.Restart()
	}
}

// Restart discards the snapshots.
func (c *snapshots[F]) Restart() {
	clear(c.points)
	c.points, c.hot, c.drain, c.every = c.points[:0], c.hot[:0], -1, c.first
	for v := range c.feeds {
		c.feeds[v].Reset()
		c.blocks[v] = c.blocks[v][:0]
	}
}
