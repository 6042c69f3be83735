package exec

import "atenia/internal/machine/pool"

// parallel splits [0, n) over the workers in pieces of at least grain. One grain
// or less runs on the caller: waking workers would cost more.
func (s *Step) parallel(n, grain int, f pool.Ranger) {
	if n <= grain || s.x.cfg.Threads == 1 {
		f.Range(0, 0, n)
	} else {
		s.x.pool.Range(n, grain, f)
	}
	if s.Counters != nil {
		s.Counters.launches.Add(1)
	}
}

// grainFor returns how many of n equal pieces justify waking another worker,
// given the cost of one piece in multiply-adds.
func grainFor(cost int) int {
	const worthwhile = 16 << 10 // about a microsecond of arithmetic
	return max(1, worthwhile/max(1, cost))
}
