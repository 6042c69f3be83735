package sched

import (
	"errors"
	"fmt"

	"atenia/internal/memory/kv"
	"atenia/internal/memory/ledger"
	"atenia/internal/plan"
	"atenia/internal/sched/states"
)

// makeCaches creates one cache per state and divides the budget among them in
// proportion to what a sequence that fills the context takes of each: a state
// with a window takes little. 0 means no budget.
func (s *Scheduler) makeCaches(budget int64, a *ledger.Account) error {
	ec := s.x.Config()
	var configs []kv.Config
	var weights []float64
	var total float64
	descriptors := s.x.States()
	for i := range descriptors {
		c := states.Storage(&descriptors[i], a)
		w := float64(pages(&c, ec.Context, ec.MaxTokens)) * float64(c.PageBytes)
		if c.Fixed {
			w *= 1 + float64(s.most) // the state, and its snapshots
		}
		configs, weights, total = append(configs, c), append(weights, w), total+w
	}
	for i, cfg := range configs {
		if budget > 0 {
			cfg.MaxBytes = max(1, int64(float64(budget)*(weights[i]/total)))
		}
		p, err := states.New(descriptors[i], cfg)
		if err != nil {
			return err
		}
		s.pools = append(s.pools, p)
		s.limits = append(s.limits, p.Cache().Stats().Limit)
		s.scoped = s.scoped || descriptors[i].Lifecycle == plan.RequestScoped
		s.marking = s.marking || p.Persistent() && !p.ByPosition()
	}
	return nil
}

// pages returns the most pages that a sequence of n tokens holds while it is
// computed in chunks.
func pages(c *kv.Config, n, chunk int) int {
	if c.Fixed {
		return 1
	}
	p := (n + c.PageTokens - 1) / c.PageTokens
	if c.Window > 0 {
		// This many positions may start anywhere in a page.
		seen := c.Window - 1 + chunk
		p = min(p, (seen+c.PageTokens-2)/c.PageTokens+1)
	}
	return p
}

// fits rejects a sequence of n tokens that would not fit even alone. It reads
// only immutable state and is safe for concurrent use.
func (s *Scheduler) fits(n int) error {
	for i, pool := range s.pools {
		c := pool.Cache()
		cfg := c.Config()
		if need, have := pages(&cfg, n, 1), s.limits[i]; need > have {
			bytes := int64(cfg.PageBytes)
			return fmt.Errorf("a prompt of %d tokens: %w", n, &kv.MemoryError{Need: int64(need) * bytes, Have: int64(have) * bytes})
		}
	}
	return nil
}

// room makes room for n more tokens of a slot, or fewer, and returns for how
// many. It evicts idle slots first, then preempts sequences that were admitted
// later. If older sequences hold the rest, the slot is parked and room returns
// 0; if it is the oldest, room fails.
func (s *Scheduler) room(sl *slot, n int, oldest bool) (int, error) {
	for {
		err := sl.extend(n)
		if err == nil {
			return n, nil
		}
		if _, ok := errors.AsType[*kv.MemoryError](err); !ok {
			return 0, err
		}
		switch {
		case s.dropMarks(), s.evictIdle(), s.preempt(sl):
		case !oldest:
			sl.parked = true
			return 0, nil
		case n > 1:
			n /= 2 // windows slide between chunks, so shorter chunks need fewer pages
		default:
			return 0, fmt.Errorf("no memory for keys and values after %d tokens: %w", sl.done, err)
		}
	}
}

// dropMarks frees the snapshots of the slot that was admitted longest ago and has
// some.
func (s *Scheduler) dropMarks() bool {
	for _, sl := range s.slots {
		if len(sl.marks) > 0 {
			sl.unmark(0)
			return true
		}
	}
	return false
}

// evictIdle frees the pages of the idle slot that was admitted longest ago.
func (s *Scheduler) evictIdle() bool {
	for _, sl := range s.slots {
		if sl.idle() && sl.holds() {
			sl.clear()
			return true
		}
	}
	return false
}

// preempt frees the pages of the running sequence that was admitted last, if
// that was after sl. The sequence keeps its tokens and its sampler state; it is
// recomputed, with the same bits, once there is room. It has no rows yet in the
// step being filled, which is filled by age.
func (s *Scheduler) preempt(sl *slot) bool {
	for i := len(s.slots) - 1; s.slots[i] != sl; i-- {
		if o := s.slots[i]; !o.idle() && o.holds() {
			o.clear()
			o.parked = true
			return true
		}
	}
	return false
}
