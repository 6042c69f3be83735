package sched

import (
	"errors"
	"slices"
	"time"

	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/plan"
	"atenia/internal/sample"
)

// turn runs one iteration of the scheduler. It reports false if there was
// nothing to compute.
func (s *Scheduler) turn() bool {
	s.dropCancelled()
	s.finishRead()
	s.catchUp()
	s.admit()
	if !s.fill() {
		s.publish()
		return false
	}
	s.start()
	err := s.compute()
	s.over()
	switch {
	case err == nil:
		s.deliver()
		if s.extra > 0 {
			s.tell()
		}
	case errors.Is(err, exec.ErrStopped): // its requests have been cancelled, or it is computed again
		s.spoil()
	default:
		s.fail(err)
		s.spoil()
		_ = s.borne(err)
	}
	s.publish()
	return true
}

// compute runs the step and times it.
func (s *Scheduler) compute() error {
	rows, decode := len(s.step.Tokens), len(s.step.Tokens) == len(s.step.Runs)
	if s.tune != nil {
		s.step.Threads = s.tune(rows, decode)
	}
	p := &s.info
	*p = StepInfo{Start: time.Now(), Rows: rows, Decode: len(s.step.Tokens) == len(s.step.Runs)+s.extra, Threads: s.step.Threads, Drafted: s.extra, Drafting: s.gain.spent}
	if p.Threads == 0 {
		p.Threads = s.x.Config().Threads
	}
	for i := range s.step.Runs {
		p.Past += s.step.Runs[i].Pos + s.step.Runs[i].Len
	}
	p.Err = s.run()
	p.Took = time.Since(p.Start)
	switch {
	case p.Err != nil:
	case s.extra == 0:
		s.gap.took(s.answers, rows-s.answers, p.Took)
		s.disk.computed(s.answers, rows, p.Took)
	default:
		s.gap.drafted(s.answers, p.Took+p.Drafting)
	}
	if p.Err == nil && rows == s.answers+s.extra {
		s.gain.timed(rows, p.Took, s.steps.Load())
	}
	if p.Err != nil || s.extra == 0 { // of drafts, it is not known yet how many are accepted
		s.tell()
	}
	return p.Err
}

// tell tells who watches of the step.
func (s *Scheduler) tell() {
	if s.watch != nil {
		s.watch(s.info)
	}
}

// run runs the step, which it counts. A fault of a mapped file is an error of it.
func (s *Scheduler) run() error {
	s.steps.Add(1)
	return fault.Files(func() error { return s.x.Step(&s.step) })
}

// A rowOwner names the token and the slot that a requested row of logits belongs
// to.
type rowOwner struct {
	sl    *slot
	token int // index into sl.tokens
}

// fill composes the next step and reports whether it has any rows.
//
// Decoding sequences need one row each and are latency-sensitive, so their rows
// are set aside before prompts get any, and prompts get no more than [gap] allows
// beside them. Then slots are filled from the oldest
// on: a sequence may preempt younger ones, which have no rows in this step yet,
// and the oldest is never preempted, so there is always progress.
func (s *Scheduler) fill() bool {
	s.step.Runs, s.step.Tokens, s.step.Requested = s.step.Runs[:0], s.step.Tokens[:0], s.step.Requested[:0]
	s.owners, s.rows, s.step.Counters = s.owners[:0], s.rows[:0], nil
	ec := s.x.Config()
	rows, logits := ec.MaxTokens, ec.MaxLogits
	s.answers, s.extra = 0, 0
	depth := 0 // of the deepest prompt
	for _, sl := range s.slots {
		if s.ended {
			s.resume(sl) // the finished request's pages are available now
		}
		sl.held = !sl.idle() && (sl.read || sl.st.behind())
		switch {
		case sl.idle() || sl.parked || sl.late.waits || sl.held:
		case sl.left() == 1:
			rows, logits = rows-1, logits-1
			s.answers++
		default:
			depth = max(depth, sl.done)
		}
	}
	s.ended = false
	s.draft(rows, logits)
	for _, sl := range s.drafting {
		rows, logits = rows-sl.draft.rows, logits-sl.draft.rows
	}
	s.prompts = s.gap.prompts(s.answers, rows, depth)
	s.share(rows, logits)
	if len(s.step.Tokens) == 0 && s.answers > 0 { // no answer had memory, so none is held up
		s.prompts = ec.MaxTokens
		s.share(ec.MaxTokens-s.answers, ec.MaxLogits-s.answers)
	}
	return len(s.step.Tokens) > 0
}

// share fills the step from the first slot on. rows and logits are what is left
// beside the rows that were set aside.
func (s *Scheduler) share(rows, logits int) {
	oldest := true
	for _, sl := range s.slots {
		if sl.idle() || sl.held { // the pages of one whose reader is behind may be taken
			continue
		}
		if !sl.parked && !sl.late.waits {
			if sl.left() == 1 { // its row was set aside
				rows, logits = rows+1+sl.draft.rows, logits+1+sl.draft.rows
			}
			n, asked := s.add(sl, rows, logits, oldest)
			rows, logits = rows-n, logits-asked
		}
		oldest = false
	}
}

// add adds the next tokens of a slot to the step, as many as the limits on rows
// and on requested logits allow. It returns how many of both it used.
func (s *Scheduler) add(sl *slot, rows, logits int, oldest bool) (n, asked int) {
	prompt := sl.left() > 1
	n = min(sl.left(), rows, max(0, sl.want-sl.done)+logits, sl.toMark(), sl.toFork())
	if prompt {
		n = sl.beside(n, s.prompts)
	}
	if n == 0 {
		return 0, 0
	}
	n, err := s.room(sl, n, oldest)
	if err != nil {
		sl.finish("", err)
		return 0, 0
	}
	if n == 0 {
		return 0, 0
	}
	if n = sl.uncut(n); n == 0 {
		return 0, 0
	}
	if prompt {
		s.prompts = max(0, s.prompts-n)
	}
	first := len(s.step.Tokens)
	s.step.Tokens = append(s.step.Tokens, sl.tokens[sl.done:sl.done+n]...)
	if drafts := sl.spread(); drafts > 0 {
		s.step.Tokens = append(s.step.Tokens, sl.draft.ids[:drafts]...)
		n, s.extra = n+drafts, s.extra+drafts
	}
	s.step.Runs = append(s.step.Runs, exec.Run{First: first, Len: n, Pos: sl.done, Span: sl.span, Pages: sl.pages, Spans: sl.spans, LowRank: sl.adapter.of, Strength: sl.adapter.strength})
	s.owners = append(s.owners, sl)
	if c := sl.st.req.Counters; c != nil {
		s.step.Counters = c
	}
	for t := max(sl.want, sl.done); t < sl.done+n; t++ {
		s.step.Requested = append(s.step.Requested, int32(first+t-sl.done))
		s.rows = append(s.rows, rowOwner{sl, t})
		asked++
	}
	return n, asked
}

// deliver passes the logits of the finished step to their owners. Those after a
// drafted token count if it is the one that was chosen before; the rest of the step is
// then dropped from the sequence.
func (s *Scheduler) deliver() {
	for i, sl := range s.owners {
		sl.done += s.step.Runs[i].Len - sl.draft.rows
		sl.st.client.tokens.Add(int64(s.step.Runs[i].Len))
		if sl.draft.rows == 0 {
			sl.slide()
		}
		sl.endScope(plan.StepScoped)
		sl.mark()
		sl.st.drafted += sl.draft.rows
		if sl.draft.kind == byModel {
			sl.st.byModel.drafted += sl.draft.rows
		}
	}
	s.wait.begin()
	for i, o := range s.rows {
		if o.sl.reached(o.token) {
			o.sl.take(o.token, s.x.Logits(&s.step, i))
		}
	}
	for _, sl := range s.drafting {
		sl.settle()
	}
}

// take consumes the logits of one token: it calls OnLogits and, if the sequence
// continues there, appends the next token or ends it.
func (sl *slot) take(token int, logits []float32) {
	r := &sl.st.req
	sl.want = token + 1
	if r.OnLogits != nil {
		r.OnLogits(token, logits)
	}
	if r.Rows && (r.All || token == len(r.Prompt)+len(r.Forced)-1) {
		sl.st.rows.add(token, logits)
	}
	if token != len(sl.tokens)-1 {
		return
	}
	made := len(sl.tokens) - len(r.Prompt)
	switch {
	case made < len(r.Forced):
		sl.tokens = append(sl.tokens, r.Forced[made])
		return
	case r.Rows:
		sl.read = true
		return
	case sl.sampler == nil:
		sl.finish(FinishLength, nil)
		return
	}
	if sl.limit == nil {
		sl.next(logits, allowed{})
	} else if f, ok := sl.s.allowed(sl.ahead); ok {
		sl.next(logits, f)
	} else {
		sl.postpone(logits)
	}
}

// next chooses the next token and appends it, or ends the sequence.
func (sl *slot) next(logits []float32, f allowed) {
	r := &sl.st.req
	made := len(sl.tokens) - len(r.Prompt)
	c, err := sl.choose(logits, f)
	if err != nil {
		sl.finish("", err)
		return
	}
	sl.st.made++
	sl.st.tokens <- Token{ID: c.ID, LogProb: c.LogProb, Top: c.Top}
	switch {
	case slices.Contains(r.Stop, c.ID), sl.limit != nil && sl.limit.Done():
		sl.finish(FinishStop, nil)
	case made+1 == r.MaxTokens:
		sl.finish(FinishLength, nil)
	default:
		sl.tokens = append(sl.tokens, c.ID)
		sl.lookAhead()
	}
}

// choose chooses the next token among those that are allowed.
func (sl *slot) choose(logits []float32, f allowed) (c sample.Choice, err error) {
	if f.err != nil {
		return c, f.err
	}
	if c, err = sl.sampler.SampleAllowed(logits, f.set); err != nil {
		return c, err
	}
	sl.sampler.Accept(c.ID)
	if sl.limit != nil {
		err = sl.limit.Accept(c.ID)
	}
	return c, err
}

// fail ends the requests with rows in a failed step. What the step wrote is
// behind the tokens counted as done and will be overwritten.
func (s *Scheduler) fail(err error) {
	for _, sl := range s.owners {
		sl.finish("", err)
	}
}

// spoil rewinds the sequences of a step that did not end, if they have states
// that a step changes in place: what these hold is of no token.
func (s *Scheduler) spoil() {
	for _, sl := range s.owners {
		sl.endScope(plan.StepScoped)
		if s.marking {
			sl.rewind()
		}
	}
}

// count publishes the memory held by the caches.
func (s *Scheduler) count() {
	var n int64
	for _, pool := range s.pools {
		c := pool.Cache()
		n += c.Stats().HeldBytes
	}
	if s.drafter != nil {
		n += s.drafter.held()
	}
	s.held.Store(n)
}
