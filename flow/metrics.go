package flow

import "atenia/flow/heat"

// What nodes report is summed in package heat.
type (
	Mode        = heat.Mode        // forward or backward
	Meter       = heat.Meter       // sums by node
	Metrics     = heat.Metrics     // totals of a session, by mode
	NodeMetrics = heat.NodeMetrics // one node's share
)

// The modes of a call.
const (
	Forward  = heat.Forward
	Backward = heat.Backward
)

// NewMeter returns a meter of the nodes named, all at zero.
func NewMeter(names []string) *Meter { return heat.New(names) }

// Metrics returns the totals of heat, calls, time and delays so far.
func (s *Session[F]) Metrics() Metrics {
	s.settle()
	m := s.meter.Report()
	for v := range m.Nodes {
		m.Nodes[v].Suspended = s.watch.Suspended(v)
	}
	return m
}

// Fired returns how many tokens a node has fired, and the block in which it did
// so first: -1 if it never did. The node is an index of the plan.
func (s *Session[F]) Fired(v int) (tokens, first int64) {
	s.settle()
	return s.procs[v].n0, s.procs[v].first
}

// thermal is what thermal gates go by: they are closed for a block when the
// block before it made more heat than the plan's budget allows.
type thermal struct {
	on     bool // there is such a gate
	hot    bool // the budget was passed
	joules float64
}

// gauge compares the heat of the block that ends with the budget.
func (s *Session[F]) gauge() {
	s.settle()
	t := &s.thermal
	j := s.meter.Joules(Forward)
	budget := s.link.Plan.HeatBudget
	t.hot = budget > 0 && j-t.joules > budget*float64(s.link.BlockFrames)/s.opt.SampleRate
	t.joules = j
}
