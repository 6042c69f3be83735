package sched

import (
	"slices"
	"sync"
)

// A row is the logits after a token.
type row struct {
	token  int
	logits []float32 // a copy
}

// rows are on their way from the scheduler to who reads them: those of one step, since a
// sequence whose reader is behind has no rows in another.
type rows struct {
	came  chan struct{} // a sign, for which there is room
	mu    sync.Mutex
	list  []row
	spare [][]float32 // of rows that were read
}

// add copies a row.
func (q *rows) add(token int, logits []float32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var b []float32
	if n := len(q.spare); n > 0 {
		b, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	q.list = append(q.list, row{token, append(b[:0], logits...)})
	select {
	case q.came <- struct{}{}:
	default:
	}
}

// unread returns the rows that have not been read, and forgets those that have.
func (q *rows) unread(read []row) []row {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range read {
		q.spare = append(q.spare, r.logits)
	}
	q.list = append(q.list[:0], q.list[len(read):]...)
	return slices.Clone(q.list)
}

// hasUnread reports whether rows of the request have come that were not read.
func (st *Stream) hasUnread() bool {
	if !st.req.Rows {
		return false
	}
	st.rows.mu.Lock()
	defer st.rows.mu.Unlock()
	return len(st.rows.list) > 0
}

// Rows calls f with each row of logits of a request with [Request.Rows], in order, and
// returns why the request ended, nil if it completed. An error of f ends it. f may
// wait for the scheduler: its sequence is not computed meanwhile, others are.
func (st *Stream) Rows(f func(row int, logits []float32) error) error {
	defer st.Close()
	for ended := false; !ended; {
		select {
		case <-st.rows.came:
		case _, more := <-st.tokens:
			ended = !more
		}
		list := st.rows.unread(nil)
		for _, r := range list {
			if ended && st.err != nil {
				break
			}
			if err := f(r.token, r.logits); err != nil {
				st.cancel(err)
				break
			}
		}
		st.rows.unread(list)
		select {
		case st.sched.delivery.read <- struct{}{}:
		default:
		}
	}
	return st.err
}

// awaitsReaders reports whether there is nothing to do until rows are read: the reader of
// every running sequence is behind, no request waits and none was cancelled. No pause is
// taken meanwhile, so that whoever reads has seen a step's rows before what comes after
// it, as if they were read by the loop.
func (s *Scheduler) awaitsReaders() (behind bool) {
	for _, sl := range s.admission.slots {
		if sl.idle() {
			continue
		}
		if sl.st.cancelled.Load() != nil || !sl.st.hasUnread() {
			return false
		}
		behind = true
	}
	return behind && len(s.admission.waiting()) == 0
}

// stuck reports whether requests wait while the reader of every slot is behind. They may
// be what the readers wait for.
func (s *Scheduler) stuck() bool {
	for _, sl := range s.admission.slots {
		if sl.idle() || !sl.st.hasUnread() {
			return false
		}
	}
	return slices.ContainsFunc(s.admission.waiting(), func(st *Stream) bool { return !st.hasUnread() })
}

// requeue puts a request whose reader is behind back into the queue: its rows go on, with
// the same bits, when it has been read and has a slot again.
func (s *Scheduler) requeue() {
	sl := s.admission.slots[0]
	st := sl.st
	if sl.read {
		sl.finish(FinishLength, nil)
		return
	}
	s.record(Decision{Request: st.req.ID, Action: actionPreempt, Slot: sl.id + 1, Rule: bySlots, Observed: int64(len(s.admission.slots)), Limit: int64(len(s.admission.slots))})
	st.want, st.fed = sl.want, len(sl.tokens)-len(st.req.Prompt)
	sl.st = nil
	sl.dropRows()
	sl.clear()
	s.admission.requeue(st)
	s.admission.freed = true
	s.kick()
}

// finishRead ends requests whose last row was read.
func (s *Scheduler) finishRead() {
	for _, sl := range s.admission.slots {
		if sl.read && !sl.idle() && !sl.st.hasUnread() {
			sl.finish(FinishLength, nil)
		}
	}
}
