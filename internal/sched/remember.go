package sched

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/memory/kv"
)

// A Remembered is a sequence that was computed before and whose keys and values
// are kept outside of the scheduler. A prompt that begins like it is continued
// from there, with the same bits as if it were computed again.
type Remembered struct {
	Class  int // of rotations: [exec.Executor.RopeClass]
	Tokens []int32
	// Load passes the pages of a state to put, in order, from the first that is
	// kept to that of the number before end. If it fails, the prompt is computed.
	// The scheduler calls it before the step in which the prompt begins.
	Load func(state, end int, put func(page int, data []byte) error) error
	// Used, if not nil, is told how many tokens of a prompt were not computed.
	Used func(tokens int)
}

// findRemembered returns the sequence that shares more than *keep tokens with a
// request, and sets *keep to how many; nil if none does.
func (s *Scheduler) findRemembered(r *Request, keep *int) (m *Remembered) {
	if r.All || s.storage.scoped || r.LowRank != nil || len(s.kept.remembered) == 0 {
		return nil
	}
	class := s.x.RopeClass(r.span())
	for i := range s.kept.remembered {
		k := &s.kept.remembered[i]
		n := 0
		for most := min(len(r.Prompt)-1, len(k.Tokens)); n < most && k.Tokens[n] == r.Prompt[n]; n++ {
		}
		if s.storage.snapshots && n < len(k.Tokens) { // states that keep no positions apart are of the end
			continue
		}
		if len(r.Images) > 0 {
			n = min(n, r.Images[0].At) // images are not remembered
		}
		if k.Class == class && n > *keep {
			m, *keep = k, n
		}
	}
	return m
}

// adoptRemembered makes the slot's sequence the first n tokens of one that is remembered.
// If that fails, the slot is empty.
func (sl *slot) adoptRemembered(m *Remembered, n int) {
	sl.clear()
	for i, x := range sl.states {
		if !sl.s.storage.pools[i].Persistent() {
			continue
		}
		if err := x.Alloc(); err != nil {
			sl.clear()
			return
		}
		if err := sl.loadState(i, x.Seq(), m, n); err != nil {
			sl.clear()
			return
		}
	}
	sl.done = n
	if m.Used != nil {
		m.Used(n)
	}
}

// loadState fills the pages of one state.
func (sl *slot) loadState(state int, q *kv.Seq, m *Remembered, n int) error {
	c := sl.s.storage.pools[state].Cache().Config()
	most := n
	if c.Window > 0 { // which pages a query needs depends on the end of the sequence
		most = len(m.Tokens)
	}
	end := (most + c.PageTokens - 1) / c.PageTokens
	err := m.Load(state, end, func(page int, data []byte) error {
		if len(data) != c.PageBytes || page < q.Len()/c.PageTokens || page >= end {
			return fmt.Errorf("page %d of %d bytes, want one from %d to %d of %d", page, len(data), q.Len()/c.PageTokens, end-1, c.PageBytes)
		}
		if skip := page*c.PageTokens - q.Len(); skip > 0 { // those before it are behind the window
			if err := q.Skip(skip); err != nil {
				return err
			}
		}
		if err := q.Extend(min(c.PageTokens, most-q.Len())); err != nil {
			return err
		}
		copy(q.Pages()[page], data)
		return nil
	})
	if err != nil {
		return err
	}
	if q.Len() != most || !q.Resumable(n) {
		return fmt.Errorf("%d tokens are kept, %d are needed", q.Len(), most)
	}
	return q.Truncate(n)
}

// A Computed is a sequence in a slot, as [Scheduler.Computed] shows it.
type Computed struct {
	Class  int
	Tokens []int32    // whose keys and values are cached
	Pages  [][][]byte // of each state; nil for those behind a window
}

// Computed calls see for every sequence that has keys and values of at least one
// page, the one admitted last first, between steps and until it fails. What see
// gets is valid during the call. Sequences are cut to whole pages, as far as
// they can be continued from there. After Close there are none.
func (s *Scheduler) Computed(see func(Computed) error) (err error) {
	s.call(func() {
		slots := slices.SortedFunc(slices.Values(s.admission.slots), func(a, b *slot) int { return cmp.Compare(b.began, a.began) })
		for _, sl := range slots {
			if c, ok := sl.computed(); ok {
				if err = see(c); err != nil {
					return
				}
			}
		}
	})
	return err
}

// portable reports whether a sequence is known by its tokens, so that another process may
// go on from it. Images are not, nor what a request alone has, and the number of an
// adapter means nothing elsewhere.
func (sl *slot) portable() bool {
	return len(sl.images) == 0 && sl.adapter.of == nil && !sl.s.storage.scoped
}

// computed returns what a slot has.
func (sl *slot) computed() (c Computed, ok bool) {
	n := sl.done
	if !sl.s.storage.snapshots {
		n = sl.wholePages()
	}
	if n == 0 || !sl.portable() {
		return c, false
	}
	c = Computed{Class: sl.s.x.RopeClass(sl.span), Tokens: sl.tokens[:n]}
	for i, x := range sl.states {
		size := sl.s.storage.pools[i].Cache().Config().PageTokens
		if !sl.s.storage.pools[i].Persistent() {
			c.Pages = append(c.Pages, nil)
			continue
		}
		fault.Invariant(x.Len() >= n, "sched: fewer positions than computed tokens")
		c.Pages = append(c.Pages, x.Pages()[:(n+size-1)/size])
	}
	return c, true
}

// wholePages returns the number of computed tokens, cut to whole pages if the
// sequence can be continued from there.
func (sl *slot) wholePages() int {
	n := sl.done
	for i := range sl.states {
		n -= n % sl.s.storage.pools[i].Cache().Config().PageTokens
	}
	for i, x := range sl.states {
		if n%sl.s.storage.pools[i].Cache().Config().PageTokens != 0 || !x.Resumable(n) {
			return sl.done
		}
	}
	return n
}

// call runs f on the scheduler's goroutine, between steps, and waits for it.
// It does not run f if the scheduler is closed first.
func (s *Scheduler) call(f func()) {
	done := make(chan struct{})
	s.mu.Lock()
	s.calls = append(s.calls, func() { f(); close(done) })
	s.mu.Unlock()
	s.kick()
	select {
	case <-done:
	case <-s.stopped:
	}
}

// runCalls runs what waits for the end of a step.
func (s *Scheduler) runCalls() {
	s.mu.Lock()
	calls := s.calls
	s.calls = nil
	s.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// Borrow runs f with the executor on the scheduler's goroutine, between two steps,
// and waits for it; requests go on afterwards. What f leaves in the executor is of no
// use afterwards, and another executor may take its place. It fails with [ErrClosed]
// if the scheduler is closed first, or with why there is no executor.
func (s *Scheduler) Borrow(f func(x *exec.Executor) error) error {
	ran := false
	var err error
	s.call(func() {
		if err = s.ready(); err == nil {
			err = s.rejectIfChanged(fault.Files(func() error { return f(s.x) }))
		}
		ran = true
	})
	if !ran {
		return s.admission.ending()
	}
	return err
}
