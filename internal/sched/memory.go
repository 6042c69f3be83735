package sched

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/kv"
	"atenia/internal/plan"
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
	s.plain = true
	for i := range descriptors {
		c := StateStorage(&descriptors[i], a)
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
		p, err := NewStatePool(descriptors[i], cfg)
		if e, ok := errors.AsType[*kv.ConfigError](err); ok && e.Field == "MaxBytes" {
			return &CacheError{budget, leastCache(configs, weights)}
		}
		if err != nil {
			return err
		}
		s.pools = append(s.pools, p)
		s.scoped = s.scoped || descriptors[i].Lifecycle == plan.RequestScoped
		s.plain = s.plain && p.Persistent() && p.ByPosition() && configs[i].Window == 0
		s.marking = s.marking || p.Persistent() && !p.ByPosition()
	}
	return nil
}

// leastCache returns the least budget in which each state has a page.
func leastCache(configs []kv.Config, weights []float64) int64 {
	var total, least float64
	for _, w := range weights {
		total += w
	}
	for i := range configs {
		least = max(least, float64(configs[i].PageBytes)*total/weights[i])
	}
	return int64(math.Ceil(least)) + int64(len(configs)-1) // shares are rounded down
}

// A CacheError says that a budget for keys and values has no room for one page of each.
type CacheError struct{ Budget, Least int64 }

func (e *CacheError) Error() string {
	return fmt.Sprintf("a cache of %d bytes has no room for one page of keys and values: this model needs %d or more", e.Budget, e.Least)
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

// capacity returns how many tokens a sequence may have: as many as the context, unless there
// is memory for the keys and values of fewer, even for one that is alone.
func (s *Scheduler) capacity() int {
	return sort.Search(s.x.Config().Context, func(n int) bool { // the first whose next one does not fit
		for _, p := range s.pools {
			cfg := p.Cache().Config()
			if pages(&cfg, n+1, 1) > p.Cache().Stats().Limit {
				return true
			}
		}
		return false
	})
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
		case s.dropMarks(), s.evictIdle(sl.by), s.endTransfers(), s.preempt(sl):
		case !oldest:
			sl.parked = true
			s.note(sl.lacks(Waits, ""))
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
	sl := s.longest(func(sl *slot) bool { return len(sl.marks) > 0 })
	if sl == nil {
		return false
	}
	sl.unmark(0)
	return true
}

// evictIdle frees, for a request, the pages of the ended sequence that was not used
// for longest, in an idle slot or kept.
func (s *Scheduler) evictIdle(to string) bool {
	sl := s.longest(func(sl *slot) bool { return sl.idle() && sl.holds() })
	if p := s.kept.oldest(); p != nil && (sl == nil || p.began < sl.began) {
		s.note(p.lacks(Evicted, to))
		s.drop(p)
		return true
	}
	if sl == nil {
		return false
	}
	s.note(sl.lacks(Evicted, to))
	sl.clear()
	return true
}

// preempt frees the pages of the running sequence with the largest rank, if that is
// beyond sl's: of equal priority, the one admitted last. One whose reader is behind,
// which may be waiting for sl's answer, is preempted whatever its rank. The sequence keeps its
// tokens and its sampler state; it is recomputed, with the same bits, once there is
// room. It has no rows yet in the step being filled, which is filled by rank.
func (s *Scheduler) preempt(sl *slot) bool {
	for i, later := len(s.slots)-1, true; i >= 0; i-- {
		o := s.slots[i]
		if later = later && o != sl; !o.idle() && o != sl && o.holds() && (later || o.held) {
			s.note(o.lacks(Preempted, sl.by))
			o.clear()
			o.parked = true
			return true
		}
	}
	return false
}

// resume lets a sequence go on that waits for memory in its slot.
func (s *Scheduler) resume(sl *slot) {
	if sl.parked && !sl.idle() {
		s.note(sl.lacks(Resumed, ""))
	}
	sl.parked = false
}

// lacks is a decision about a slot's sequence for want of memory: what a page of
// every state takes, and what is free.
func (sl *slot) lacks(a Action, to string) Decision {
	d := Decision{Request: sl.by, Action: a, Slot: sl.id + 1, Other: to, Rule: ByMemory}
	for _, p := range sl.s.pools {
		st := p.Cache().Stats()
		d.Observed, d.Limit = d.Observed+st.PageBytes, d.Limit+int64(st.Free)*st.PageBytes
	}
	return d
}
