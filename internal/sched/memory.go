package sched

import (
	"errors"
	"fmt"

	"atenia/internal/memory/kv"
)

// reserve makes room for n more tokens of a slot, or fewer, and returns for how
// many. It evicts idle slots first, then preempts sequences that were admitted
// later. If older sequences hold the rest, the slot is stalled and reserve returns
// 0; if it is the oldest, reserve fails.
func (s *Scheduler) reserve(sl *slot, n int, oldest bool) (int, error) {
	for {
		err := sl.extend(n)
		if err == nil {
			return n, nil
		}
		if _, ok := errors.AsType[*kv.MemoryError](err); !ok {
			return 0, err
		}
		switch {
		case s.evictSnapshots(), s.evictIdle(sl.by), s.endTransfers(), s.preempt(sl):
		case !oldest:
			sl.stalled = true
			s.record(sl.memoryDecision(actionWait, ""))
			return 0, nil
		case n > 1:
			n /= 2 // windows slide between chunks, so shorter chunks need fewer pages
		default:
			return 0, fmt.Errorf("no memory for keys and values after %d tokens: %w", sl.done, err)
		}
	}
}

// evictSnapshots frees the snapshots of the slot that was admitted longest ago and has
// some.
func (s *Scheduler) evictSnapshots() bool {
	sl := s.admission.leastRecent(func(sl *slot) bool { return len(sl.snapshots) > 0 })
	if sl == nil {
		return false
	}
	sl.dropSnapshots(0)
	return true
}

// evictIdle frees, for a request, the pages of the ended sequence that was not used
// for longest, in an idle slot or kept.
func (s *Scheduler) evictIdle(to string) bool {
	sl := s.admission.leastRecent(func(sl *slot) bool { return sl.idle() && sl.holds() })
	if p := s.kept.memory.oldest(); p != nil && (sl == nil || p.began < sl.began) {
		s.record(p.memoryDecision(actionEvict, to))
		s.kept.memory.drop(p)
		return true
	}
	if sl == nil {
		return false
	}
	s.record(sl.memoryDecision(actionEvict, to))
	sl.clear()
	return true
}

// preempt frees the pages of a running sequence for that of sl: [admission.victim]. The
// sequence keeps its tokens and its sampler state; it is recomputed, with the same bits,
// once there is room. It has no rows yet in the step being filled, which is filled by rank.
func (s *Scheduler) preempt(sl *slot) bool {
	o := s.admission.victim(sl)
	if o == nil {
		return false
	}
	s.record(o.memoryDecision(actionPreempt, sl.by))
	o.clear()
	o.stalled = true
	return true
}

// resume lets a sequence go on that waits for memory in its slot.
func (s *Scheduler) resume(sl *slot) {
	if sl.stalled && !sl.idle() {
		s.record(sl.memoryDecision(actionResume, ""))
	}
	sl.stalled = false
}

// memoryDecision is a decision about a slot's sequence for want of memory: what a page of
// every state takes, and what is free.
func (sl *slot) memoryDecision(a Action, to string) Decision {
	d := Decision{Request: sl.by, Action: a, Slot: sl.id + 1, Other: to, Rule: byMemory}
	for _, p := range sl.s.storage.pools {
		st := p.Cache().Stats()
		d.Observed, d.Limit = d.Observed+st.PageBytes, d.Limit+int64(st.Free)*st.PageBytes
	}
	return d
}
