package sched

import (
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/sample"
)

// An ahead finds out which tokens may come next in an answer that is limited, on a
// goroutine of its own, while the step runs whose logits these are: for a grammar that
// takes from microseconds up to a second, which nobody else is to wait for. The loop
// asks once a token is accepted, and takes the set when it chooses the next one.
type ahead struct {
	ask   chan asked
	found chan allowed
	busy  bool        // asked, and not taken; the loop's
	late  atomic.Bool // the loop waits to be woken
}

// Both channels have room for one, so that neither side waits to send.
type (
	asked struct {
		limit sample.Constraint
		left  int
	}
	allowed struct {
		set []uint64
		err error
	}
)

func (s *Scheduler) newAhead() *ahead {
	a := &ahead{ask: make(chan asked, 1), found: make(chan allowed, 1)}
	go func() {
		for q := range a.ask {
			var f allowed
			f.err = fault.Call(func() (err error) {
				f.set, err = q.limit.Allowed(q.left)
				return err
			})
			a.found <- f
			if a.late.Load() {
				s.kick()
			}
		}
	}()
	return a
}

// A late answer has the logits of its next token and not yet the set that it is chosen
// from. It has no rows in steps until then, which its neighbours do not notice.
type late struct {
	waits  bool
	logits []float32 // [vocab] a copy
}

// lookAhead asks what may follow the slot's last token.
func (sl *slot) lookAhead() {
	if sl.limit == nil {
		return
	}
	if sl.ahead == nil {
		sl.ahead = sl.s.newAhead()
	}
	r := &sl.st.req
	sl.ahead.busy = true
	sl.ahead.late.Store(false)
	sl.ahead.ask <- asked{sl.limit, r.MaxTokens - (len(sl.tokens) - len(r.Prompt))}
}

// dropAhead ends looking ahead for a request that ends. What is being looked for is not
// waited for: the next request of the slot has another goroutine.
func (sl *slot) dropAhead() {
	sl.late.waits = false
	if sl.ahead != nil && sl.ahead.busy {
		close(sl.ahead.ask)
		sl.ahead = nil
	}
}

// stopAhead ends the goroutines.
func (s *Scheduler) stopAhead() {
	for _, sl := range s.admission.slots {
		if sl.ahead != nil {
			close(sl.ahead.ask)
			sl.ahead = nil
		}
	}
}

// An answer that misses the next step loses all of its time. So the loop waits a part of
// the last one's for sets that are late, and not longer than a listener notices.
const (
	patience     = 4 // so many such waits are a step
	mostPatience = 5 * time.Millisecond
)

// A wait is how long the loop waits after a step for what is looked for, in all.
type wait struct {
	timer   *time.Timer
	running bool // since this step
	over    bool
}

// begin is called after a step.
func (w *wait) begin() { w.running, w.over = false, false }

// allowed returns what may come next, false if that is not known in time.
func (s *Scheduler) allowed(a *ahead) (f allowed, ok bool) {
	select {
	case f = <-a.found:
		a.busy = false
		return f, true
	default:
	}
	w := &s.delivery.wait
	if w.over {
		return f, false
	}
	if !w.running {
		w.running = true
		d := min(s.batch.info.Took/patience, mostPatience)
		if w.timer == nil {
			w.timer = time.NewTimer(d)
		} else {
			w.timer.Reset(d)
		}
	}
	select {
	case f = <-a.found:
		a.busy = false
		return f, true
	case <-w.timer.C:
		w.over = true
		return f, false
	}
}

// postpone keeps the logits of a slot whose set is late. Drafts of the step are not
// looked at.
func (sl *slot) postpone(logits []float32) {
	sl.late.logits = append(sl.late.logits[:0], logits...)
	sl.late.waits, sl.draft.failed = true, true
	sl.ahead.late.Store(true) // before the next look at what was found
}

// deliverLate chooses the tokens of answers whose sets have come.
func (s *Scheduler) deliverLate() {
	s.delivery.wait.over = true
	for _, sl := range s.admission.slots {
		if !sl.late.waits {
			continue
		}
		if f, ok := s.allowed(sl.ahead); ok {
			sl.late.waits = false
			sl.next(sl.late.logits, f)
		}
	}
}
