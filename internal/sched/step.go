package sched

import (
	"errors"
	"time"

	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/plan"
)

// turn runs one iteration of the scheduler. It reports false if there was
// nothing to compute.
func (s *Scheduler) turn() bool {
	s.endCancelled()
	s.finishRead()
	s.deliverLate()
	s.admit()
	filled := s.fill()
	s.publish()
	if !filled {
		return false
	}
	if err := s.compute(); err == nil {
		s.deliver()
	} else {
		s.abandon(err)
	}
	s.publish()
	return true
}

// compute runs the step and times it. While it runs others may stop it.
func (s *Scheduler) compute() error {
	b := &s.batch
	b.begin(&s.admission)
	rows, runs, drafted := len(b.step.Tokens), len(b.step.Runs), s.drafts.rows
	if s.tune != nil {
		b.step.Threads = s.tune(rows, rows == runs)
	}
	p := &b.info
	*p = StepInfo{Start: time.Now(), Rows: rows, Decode: rows == runs+drafted, Threads: b.step.Threads, Drafted: drafted, Drafting: s.drafts.gain.spent}
	if p.Threads == 0 {
		p.Threads = s.x.Config().Threads
	}
	for i := range b.step.Runs {
		p.Past += b.step.Runs[i].Pos + b.step.Runs[i].Len
	}
	packing := s.x.PackingTime()
	p.Err = s.run()
	p.Packing = s.x.PackingTime() - packing
	p.Took, p.Stopped = time.Since(p.Start), errors.Is(p.Err, exec.ErrStopped)
	if p.Err == nil {
		s.observe(p)
	}
	if p.Err != nil || drafted == 0 { // of drafts, deliver finds out how many are accepted
		s.delivery.report(*p)
	}
	b.end()
	return p.Err
}

// observe passes the time of a step to the estimates that it says something about. Each
// is of one kind of rows: prompts are held to what answers alone take, and drafts pay by
// what more rows cost where there are no prompts.
func (s *Scheduler) observe(p *StepInfo) {
	b := &s.batch
	prompts := p.Rows - b.answers - p.Drafted
	if p.Drafted == 0 {
		b.gap.observe(b.answers, prompts, p.Took)
		s.kept.disk.observe(b.answers, p.Rows, p.Took)
	} else {
		b.gap.observeDrafted(b.answers, p.Took+p.Drafting)
	}
	if prompts == 0 {
		s.drafts.gain.observe(p.Rows, p.Took, s.steps.Load())
	}
}

// abandon deals with a step that did not end. One that was stopped has lost its requests,
// or is computed again; one that failed ends its requests.
func (s *Scheduler) abandon(err error) {
	if errors.Is(err, exec.ErrStopped) {
		s.rollback()
		return
	}
	s.fail(err)
	s.rollback()
	_ = s.rejectIfChanged(err)
}

// run runs the step, which it counts. A fault of a mapped file is an error of it.
func (s *Scheduler) run() error {
	s.steps.Add(1)
	return fault.Files(func() error { return s.x.Step(&s.batch.step) })
}

// fill composes the next step and reports whether it has any rows.
//
// Decoding sequences need one row each and are latency-sensitive, so their rows
// are set aside before prompts get any, and prompts get no more than [gap] allows
// beside them. Then slots are filled from the oldest
// on: a sequence may preempt younger ones, which have no rows in this step yet,
// and the oldest is never preempted, so there is always progress.
func (s *Scheduler) fill() bool {
	b := &s.batch
	b.reset()
	ec := s.x.Config()
	rows, logits := ec.MaxTokens, ec.MaxLogits
	s.drafts.rows = 0
	depth := 0       // of the deepest prompt
	var traced *slot // nil = none that may have rows
	for _, sl := range s.admission.slots {
		if s.admission.freed {
			s.resume(sl) // the finished request's pages are available now
		}
		sl.blocked = !sl.idle() && (sl.read || sl.st.hasUnread())
		if sl.idle() || sl.stalled || sl.late.waits || sl.blocked {
			continue
		}
		if sl.st.req.Trace != nil {
			traced = sl
		}
		if sl.left() == 1 {
			rows, logits = rows-1, logits-1
			b.answers++
		} else {
			depth = max(depth, sl.done)
		}
	}
	s.admission.freed = false
	if traced != nil && s.fillTraced(traced) {
		return true
	}
	s.draft(rows, logits)
	for _, sl := range s.drafts.slots {
		rows, logits = rows-sl.draft.rows, logits-sl.draft.rows
	}
	b.prompts = b.gap.prompts(b.answers, rows, depth)
	s.fillSlots(rows, logits)
	if len(b.step.Tokens) == 0 && b.answers > 0 { // no answer had memory, so none is held up
		b.prompts = ec.MaxTokens
		s.fillSlots(ec.MaxTokens-b.answers, ec.MaxLogits-b.answers)
	}
	return len(b.step.Tokens) > 0
}

// fillTraced fills the step with rows of a request that is traced, and no others: nobody
// drafts beside it. It returns false if the request can have none.
func (s *Scheduler) fillTraced(sl *slot) bool {
	b, ec := &s.batch, s.x.Config()
	s.draft(0, 0)
	b.prompts = ec.MaxTokens
	if n, _ := s.addRows(sl, ec.MaxTokens, ec.MaxLogits, false); n == 0 {
		return false
	}
	trace, step, first := sl.st.req.Trace, sl.st.traced, sl.done
	sl.st.traced++
	b.step.Trace = func(at int, ins *plan.Instruction, j int, values []float32, cols int) {
		trace(Traced{step, first, at, ins.Op, int(ins.Layer), j, values, cols})
	}
	return true
}

// fillSlots fills the step from the first slot on. rows and logits are what is left
// beside the rows that were set aside.
func (s *Scheduler) fillSlots(rows, logits int) {
	oldest := true
	for _, sl := range s.admission.slots {
		if sl.idle() || sl.blocked { // the pages of one whose reader is behind may be taken
			continue
		}
		if !sl.stalled && !sl.late.waits {
			if sl.left() == 1 { // its row was set aside
				rows, logits = rows+1+sl.draft.rows, logits+1+sl.draft.rows
			}
			n, asked := s.addRows(sl, rows, logits, oldest)
			rows, logits = rows-n, logits-asked
		}
		oldest = false
	}
}

// addRows adds the next tokens of a slot to the step, as many as the limits on rows
// and on requested logits allow. It returns how many of both it used.
func (s *Scheduler) addRows(sl *slot, rows, logits int, oldest bool) (n, asked int) {
	b := &s.batch
	prompt := sl.left() > 1
	n = min(sl.left(), rows, max(0, sl.want-sl.done)+logits, sl.toSnapshot(), sl.toFork())
	if prompt {
		n = sl.promptRows(n, b.prompts)
	}
	if n == 0 {
		return 0, 0
	}
	n, err := s.reserve(sl, n, oldest)
	if err != nil {
		sl.finish("", err)
		return 0, 0
	}
	if n == 0 {
		return 0, 0
	}
	if n = sl.wholeImages(n); n == 0 {
		return 0, 0
	}
	if prompt {
		b.prompts = max(0, b.prompts-n)
	}
	first := len(b.step.Tokens)
	b.step.Tokens = append(b.step.Tokens, sl.tokens[sl.done:sl.done+n]...)
	if drafts := sl.reserveDrafts(); drafts > 0 {
		b.step.Tokens = append(b.step.Tokens, sl.draft.ids[:drafts]...)
		n, s.drafts.rows = n+drafts, s.drafts.rows+drafts
	}
	b.step.Runs = append(b.step.Runs, exec.Run{First: first, Len: n, Pos: sl.done, Span: sl.span, Pages: sl.pages, Spans: sl.spans, LowRank: sl.adapter.of, Strength: sl.adapter.strength})
	b.owners = append(b.owners, sl)
	if c := sl.st.req.Counters; c != nil {
		b.step.Counters = c
	}
	for t := max(sl.want, sl.done); t < sl.done+n; t++ {
		b.step.Requested = append(b.step.Requested, int32(first+t-sl.done))
		b.rows = append(b.rows, rowOwner{sl, t})
		asked++
	}
	return n, asked
}

// fail ends the requests with rows in a failed step. What the step wrote is
// behind the tokens counted as done and will be overwritten.
func (s *Scheduler) fail(err error) {
	for _, sl := range s.batch.owners {
		sl.finish("", err)
	}
}

// rollback rewinds the sequences of a step that did not end, if they have states
// that a step changes in place: what these hold is of no token.
func (s *Scheduler) rollback() {
	if !s.storage.snapshots {
		return
	}
	for _, sl := range s.batch.owners {
		sl.rewind()
	}
}
