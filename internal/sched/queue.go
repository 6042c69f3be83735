package sched

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// MaxPriority bounds [Request.Priority] on both sides of 0.
const MaxPriority = 100

// ageSteps is how many steps of waiting are worth a level of priority. Since every
// request rises, none waits forever for those that are preferred to it.
const ageSteps = 64

// maxClients is how many clients without requests are remembered.
const maxClients = 1024

// A client is all requests with one [Request.Client]. While clients wait, the one
// that was given the fewest tokens comes first: the virtual token counter of
// Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024.
type client struct {
	tokens atomic.Int64 // computed for it
	live   atomic.Int32 // requests that have not ended
}

// client returns that of a request which is about to wait. One that had no request
// may not bring what it did not use meanwhile: it begins at least where the client
// with the fewest tokens is. s.mu is held.
func (s *Scheduler) client(name string) *client {
	least, busy := int64(math.MaxInt64), false
	for _, c := range s.clients {
		if c.live.Load() > 0 {
			least, busy = min(least, c.tokens.Load()), true
		}
	}
	c := s.clients[name]
	if c == nil {
		if len(s.clients) >= maxClients {
			for n, old := range s.clients {
				if old.live.Load() == 0 {
					delete(s.clients, n)
				}
			}
		}
		c = &client{}
		s.clients[name] = c
	}
	if busy && c.live.Load() == 0 && c.tokens.Load() < least {
		c.tokens.Store(least)
	}
	c.live.Add(1)
	return c
}

func checkPriority(p int) error {
	if p < -MaxPriority || p > MaxPriority {
		return fmt.Errorf("a priority of %d: want −%d to %d", p, MaxPriority, MaxPriority)
	}
	return nil
}

// level is the priority of a request with what its waiting is worth.
func (st *Stream) level(steps uint64) int64 {
	return int64(st.req.Priority) + int64((steps-st.came)/ageSteps)
}

// compare orders waiting requests by level, then by the tokens that their clients
// were given, then by arrival. It returns the rule that decided and its numbers.
func compare(a, b *Stream, steps uint64) (order int, by Rule, of, than int64) {
	x, y := a.level(steps), b.level(steps)
	if x != y {
		return cmp.Compare(y, x), ByPriority, x, y
	}
	if a.client != b.client {
		x, y = a.client.tokens.Load(), b.client.tokens.Load()
		if x != y {
			return cmp.Compare(x, y), ByShare, x, y
		}
	}
	return cmp.Compare(a.number, b.number), ByArrival, int64(steps - a.came), 0
}

// waitingNow returns the requests in the queue, oldest first. The loop alone
// removes them, so it may read the slice without the lock.
func (s *Scheduler) waitingNow() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue
}

// mostDeferred is how many requests are compared with those that run, at a time.
const mostDeferred = 64

// next returns the waiting request that comes first of those that need not wait for
// another's prefix, nil if there is none.
func (s *Scheduler) next() *Stream {
	queue, steps := s.waitingNow(), s.steps.Load()
	for _, st := range queue {
		st.deferred = st.lead != nil && s.behind(st) || st.reading() || st.behind()
	}
	for range mostDeferred {
		var first *Stream
		for _, st := range queue {
			if st.deferred {
				continue
			}
			if first == nil {
				first = st
			} else if order, _, _, _ := compare(st, first, steps); order < 0 {
				first = st
			}
		}
		if first == nil || !s.behind(first) && !s.recalls(first) && !s.fetches(first) {
			return first
		}
		first.deferred = true
	}
	return nil
}

// dequeue removes a request from the queue.
func (s *Scheduler) dequeue(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, st)
	// A copy: next reads the slice without the lock.
	s.queue = slices.Concat(s.queue[:i], s.queue[i+1:])
}

// admit moves waiting requests into idle slots.
func (s *Scheduler) admit() {
	s.landSpills()
	s.land()
	for _, sl := range s.slots {
		sl.forkAt = 0
	}
	for slices.ContainsFunc(s.slots, (*slot).idle) {
		st := s.next()
		if st == nil {
			return
		}
		if s.short(st) {
			return // those behind it wait, too, or it might wait forever
		}
		s.dequeue(st)
		s.noteAdmission(st)
		err := s.ready()
		if err == nil {
			err = s.begin(st)
		}
		if err != nil {
			st.end("", err)
		}
	}
	for _, st := range s.waitingNow() {
		s.waits(st, Decision{Rule: BySlots, Observed: int64(len(s.slots)), Limit: int64(len(s.slots))})
	}
}

// noteAdmission keeps why a request is admitted, and why others that came before
// it are not.
func (s *Scheduler) noteAdmission(st *Stream) {
	steps := s.steps.Load()
	d := Decision{Request: st.req.ID, Action: Admitted, Rule: ByArrival, Observed: int64(steps - st.came)}
	for _, o := range s.waitingNow() {
		if o.number > st.number || o.deferred {
			continue
		}
		_, by, of, than := compare(st, o, steps)
		d.Other, d.Rule, d.Observed, d.Limit = o.req.ID, by, of, than
		s.waits(o, Decision{Other: st.req.ID, Rule: by, Observed: than, Limit: of})
	}
	st.noted = d
}

// short reports whether a request waits because its prompt needs more memory than
// there is, while running requests that come before it have it.
func (s *Scheduler) short(st *Stream) bool {
	if !slices.ContainsFunc(s.slots, func(sl *slot) bool { return !sl.idle() }) {
		return false
	}
	at := s.rank(st)
	reuse := -1
	for i, pool := range s.pools {
		c := pool.Cache()
		cfg, stats := c.Config(), c.Stats()
		if cfg.Fixed || stats.Limit == math.MaxInt32 {
			continue
		}
		if reuse < 0 {
			reuse = 0
			for _, sl := range s.slots {
				reuse = max(reuse, sl.shares(&st.req))
			}
			s.readFor(&st.req, &reuse)
		}
		need := pages(&cfg, len(st.req.Prompt), s.x.Config().MaxTokens) - reuse/cfg.PageTokens
		have := stats.Free + s.kept.pages[i]
		for _, sl := range s.slots {
			if sl.idle() || sl.rank > at || sl.st.behind() { // evicted or preempted for it
				have += sl.pagesOf(i)
			}
		}
		if need > have {
			bytes := int64(cfg.PageBytes)
			s.waits(st, Decision{Rule: ByMemory, Observed: int64(need) * bytes, Limit: int64(have) * bytes})
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

// rank orders running requests: memory is taken from those with the largest.
func (s *Scheduler) rank(st *Stream) int64 {
	return int64(s.steps.Load()) - ageSteps*int64(st.req.Priority)
}
