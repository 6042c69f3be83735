package sched

import (
	"math"
	"slices"
)

// mostDeferred is how many requests are compared with those that run, at a time.
const mostDeferred = 64

// next returns the waiting request that comes first of those that need not wait for
// another's prefix, nil if there is none.
func (s *Scheduler) next() *Stream {
	queue, steps := s.admission.waiting(), s.steps.Load()
	for _, st := range queue {
		st.deferred = st.lead != nil && s.awaitsPrefix(st) || st.reading() || st.hasUnread()
	}
	for range mostDeferred {
		st := first(queue, steps)
		if st == nil || !s.awaitsPrefix(st) && !s.awaitsRestore(st) && !s.awaitsDisk(st) {
			return st
		}
		st.deferred = true
	}
	return nil
}

// admit moves waiting requests into idle slots.
func (s *Scheduler) admit() {
	s.finishRestores()
	s.finishTransfers()
	for _, sl := range s.admission.slots {
		sl.forkAt = 0
	}
	for slices.ContainsFunc(s.admission.slots, (*slot).idle) {
		st := s.next()
		if st == nil {
			return
		}
		if s.lacksMemory(st) {
			return // those behind it wait, too, or it might wait forever
		}
		s.admission.dequeue(st)
		s.recordAdmission(st)
		err := s.ready()
		if err == nil {
			err = s.begin(st)
		}
		if err != nil {
			st.end("", err)
		}
	}
	for _, st := range s.admission.waiting() {
		s.recordWait(st, Decision{Rule: bySlots, Observed: int64(len(s.admission.slots)), Limit: int64(len(s.admission.slots))})
	}
}

// recordAdmission keeps why a request is admitted, and why others that came before
// it are not.
func (s *Scheduler) recordAdmission(st *Stream) {
	steps := s.steps.Load()
	d := Decision{Request: st.req.ID, Action: actionAdmit, Rule: byArrival, Observed: int64(steps - st.came)}
	for _, o := range s.admission.waiting() {
		if o.number > st.number || o.deferred {
			continue
		}
		_, by, of, than := compare(st, o, steps)
		d.Other, d.Rule, d.Observed, d.Limit = o.req.ID, by, of, than
		s.recordWait(o, Decision{Other: st.req.ID, Rule: by, Observed: than, Limit: of})
	}
	st.noted = d
}

// lacksMemory reports whether a request waits because its prompt needs more memory than
// there is, while running requests that come before it have it.
func (s *Scheduler) lacksMemory(st *Stream) bool {
	if !slices.ContainsFunc(s.admission.slots, func(sl *slot) bool { return !sl.idle() }) {
		return false
	}
	at := st.rank(s.steps.Load())
	reuse := -1
	for i, pool := range s.storage.pools {
		c := pool.Cache()
		cfg, stats := c.Config(), c.Stats()
		if cfg.Fixed || stats.Limit == math.MaxInt32 {
			continue
		}
		if reuse < 0 {
			reuse = 0
			for _, sl := range s.admission.slots {
				reuse = max(reuse, sl.shares(&st.req))
			}
			s.findRead(&st.req, &reuse)
		}
		need := pages(&cfg, len(st.req.Prompt), s.x.Config().MaxTokens) - reuse/cfg.PageTokens
		have := stats.Free + s.kept.memory.pages[i]
		for _, sl := range s.admission.slots {
			if sl.idle() || sl.rank > at || sl.st.hasUnread() { // evicted or preempted for it
				have += sl.pagesOf(i)
			}
		}
		if need > have {
			bytes := int64(cfg.PageBytes)
			s.recordWait(st, Decision{Rule: byMemory, Observed: int64(need) * bytes, Limit: int64(have) * bytes})
			return true
		}
	}
	return false
}

// pagesOf returns the number of pages of a state.
func (sl *slot) pagesOf(state int) (n int) {
	for _, p := range sl.states[state].Pages() {
		if p != nil {
			n++
		}
	}
	return n
}
