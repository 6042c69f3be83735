package flow

// Reset takes the session back to before its first block: nodes, channels and
// counts are as they were made, parameters have the plan's values again, and
// what the session was told or has measured is forgotten. A record begins anew.
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
		s.reheat(p)
	}
	for _, g := range s.gates {
		g.blocks, g.next, g.open = g.blocks[:0], 0, false
	}
	s.told, s.coming, s.staged, s.log = s.told[:0], s.coming[:0], s.staged[:0], s.log[:0]
	s.thermal.hot, s.thermal.joules = false, 0
	s.meter.Reset()
	s.watch.Reset()
	if s.rec != nil {
		s.rec.Restart()
	}
}

// Restart forgets the snapshots.
func (c *snapshots[F]) Restart() {
	clear(c.points)
	c.points, c.hot, c.drain, c.every = c.points[:0], c.hot[:0], -1, c.first
	for v := range c.feeds {
		c.feeds[v].Reset()
		c.blocks[v] = c.blocks[v][:0]
	}
}
