package sched

import (
	"math"
	"slices"

	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/plan"
)

// An adapter is what keys and values of a sequence depend on besides its tokens: they
// are shared with requests alone that have the same one, as strong.
type adapter struct {
	of       *exec.LowRank // nil = none
	strength float32
}

// adapter returns the request's.
func (r *Request) adapter() adapter {
	if r.LowRank == nil {
		return adapter{}
	}
	return adapter{r.LowRank, r.Strength}
}

// ended tells the caller that nothing of the request is used any more.
func (r *Request) ended() {
	if r.Ended != nil {
		r.Ended()
	}
}

// seed returns where hashes of prefixes begin.
func (a adapter) seed() uint64 {
	h := chainSeed
	if a.of == nil {
		return h
	}
	h = (h ^ a.of.ID()) * 0xff51afd7ed558ccd
	return (h ^ uint64(math.Float32bits(a.strength))) * 0xff51afd7ed558ccd
}

// NewLowRank brings an adapter into memory, see [exec.Executor.NewLowRank].
func (s *Scheduler) NewLowRank(plans *plan.ModelPlans, l *plan.LowRank, factors []exec.Factors, account *ledger.Account) (*exec.LowRank, error) {
	return s.shared.Load().NewLowRank(plans, l, factors, account)
}

// Forget frees the keys and values of ended requests that had an adapter, which no
// request will have again.
func (s *Scheduler) Forget(low *exec.LowRank) {
	s.call(func() {
		for _, sl := range s.admission.slots {
			if sl.idle() && sl.adapter.of == low {
				sl.clear()
			}
		}
		for _, p := range slices.Clone(s.kept.memory.list) {
			if p.adapter.of == low {
				s.kept.memory.drop(p)
			}
		}
		s.countHeld()
	})
}
