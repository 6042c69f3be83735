package flow

// Metrics returns the totals of heat, calls, time and delays so far.
func (s *Session[F]) Metrics() Metrics {
	s.syncCounts()
	m := s.meter.Report()
	for v := range m.Nodes {
		m.Nodes[v].Suspended = s.watch.Suspended(v)
	}
	return m
}

// Fired returns how many tokens node v, an index of the plan, has fired and the block of its first firing, -1 if it
// has not fired.
func (s *Session[F]) Fired(v int) (tokens, first int64) {
	s.syncCounts()
	return s.procs[v].n0, s.procs[v].first
}

// thermal is the state behind thermal gates: they are closed for a block if the block before it produced more heat
// than the plan's budget allows.
type thermal struct {
	on     bool // the plan has a thermal gate
	hot    bool // the budget was exceeded
	joules float64
}

// updateThermal compares the heat of the ending block with the budget.
func (s *Session[F]) updateThermal() {
	s.syncCounts()
	t := &s.thermal
	j := s.meter.Joules(Forward)
	budget := s.link.Plan.HeatBudget
	t.hot = budget > 0 && j-t.joules > budget*float64(s.link.BlockFrames)/s.opt.SampleRate
	t.joules = j
}
