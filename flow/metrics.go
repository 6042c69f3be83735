package flow

// Metrics returns the totals of heat, calls, time and delays so far.
func (s *Session[F]) Metrics() Metrics {
	s.settle()
	return s.meter.Report()
}

// Fired returns how many tokens a node has fired, and the block in which it did
// so first: -1 if it never did. The node is an index of the plan.
func (s *Session[F]) Fired(v int) (tokens, first int64) {
	s.settle()
	return s.procs[v].n0, s.procs[v].first
}
