package sched

import (
	"slices"
	"sync"
	"time"

	"atenia/internal/sample"
)

// decisionsKept is how many decisions are kept.
const decisionsKept = 4096

// A delivery is what leaves the scheduler: tokens and rows of logits for clients, and
// for all others what was done, why, and what the slots do now.
type delivery struct {
	watch func(StepInfo)
	wait  wait          // for what may come next
	read  chan struct{} // capacity one: a reader may have caught up

	mu        sync.Mutex // guards what follows
	view      []Status   // of the slots
	decisions []Decision // a ring once it is full, which begins at oldest
	oldest    int
}

func newDelivery(cfg *Config) delivery {
	return delivery{watch: cfg.Watch, read: make(chan struct{}, 1)}
}

// report tells who watches of a step.
func (d *delivery) report(p StepInfo) {
	if d.watch != nil {
		d.watch(p)
	}
}

// publish shows other goroutines what the slots do.
func (d *delivery) publish(slots []*slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view = d.view[:0]
	for _, sl := range slots {
		d.view = append(d.view, sl.status())
	}
}

// slots returns a copy of what was published.
func (d *delivery) slots() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.view)
}

// record keeps a decision, made after so many steps.
func (d *delivery) record(x Decision, steps uint64) {
	x.Time, x.Step = time.Now(), steps
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.decisions) < decisionsKept {
		d.decisions = append(d.decisions, x)
		return
	}
	d.decisions[d.oldest] = x
	d.oldest = (d.oldest + 1) % decisionsKept
}

// why returns the decisions about a request in order; "" stands for every request.
func (d *delivery) why(request string) (out []Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, part := range [][]Decision{d.decisions[d.oldest:], d.decisions[:d.oldest]} {
		for _, x := range part {
			if request == "" || x.Request == request {
				out = append(out, x)
			}
		}
	}
	return out
}

// Why returns the decisions about a request in order, as far as they are kept:
// the last 4096 of all requests. "" stands for every request.
func (s *Scheduler) Why(request string) []Decision { return s.delivery.why(request) }

// publish shows other goroutines the memory held and what the slots do.
func (s *Scheduler) publish() {
	s.countHeld()
	s.delivery.publish(s.admission.slots)
}

// record keeps a decision. It is called where requests come, go or wait, never in a
// step that only decodes.
func (s *Scheduler) record(d Decision) { s.delivery.record(d, s.steps.Load()) }

// recordWait keeps why a request waits, once for each rule in turn.
func (s *Scheduler) recordWait(st *Stream, d Decision) {
	if st.waiting && st.why == d.Rule {
		return
	}
	st.waiting, st.why = true, d.Rule
	d.Request, d.Action = st.req.ID, actionWait
	s.record(d)
}

// recordEnd keeps how a request ended.
func (s *Scheduler) recordEnd(st *Stream, f Finish, err error) {
	if n, m := st.drafted-st.byModel.drafted, st.accepted-st.byModel.accepted; n > 0 {
		s.record(Decision{Request: st.req.ID, Action: actionDraft, Slot: st.slot, Rule: byDrafts, Observed: int64(m), Limit: int64(n)})
	}
	if n, m := st.byModel.drafted, st.byModel.accepted; n > 0 {
		s.record(Decision{Request: st.req.ID, Action: actionDraft, Slot: st.slot, Rule: byDrafts, Observed: int64(m), Limit: int64(n), Drafter: s.drafts.name()})
	}
	d := Decision{Request: st.req.ID, Slot: st.slot, Action: actionFinish, Rule: byLength, Observed: int64(st.made), Limit: int64(st.req.MaxTokens)}
	switch {
	case err != nil && st.cancelled.Load() != nil:
		d.Action, d.Rule = actionCancel, byCaller
	case err != nil:
		d.Action, d.Rule = actionFail, byError
	case f == FinishStop:
		d.Rule = byStop
	}
	s.record(d)
}

// deliver passes the logits of the finished step to their owners. Those after a
// drafted token count if it is the one that was chosen before; the rest of the step is
// then dropped from the sequence, and the step is reported with how many were accepted.
func (s *Scheduler) deliver() {
	b := &s.batch
	for i, sl := range b.owners {
		sl.done += b.step.Runs[i].Len - sl.draft.rows
		sl.st.client.tokens.Add(int64(b.step.Runs[i].Len))
		if sl.draft.rows == 0 {
			sl.slide()
		}
		sl.takeSnapshot()
		sl.st.drafted += sl.draft.rows
		if sl.draft.kind == byModel {
			sl.st.byModel.drafted += sl.draft.rows
		}
	}
	s.delivery.wait.begin()
	for i, o := range b.rows {
		if o.sl.verify(o.token) {
			o.sl.consume(o.token, s.x.Logits(&b.step, i))
		}
	}
	for _, sl := range s.drafts.slots {
		sl.dropRejected()
	}
	if s.drafts.rows > 0 {
		s.delivery.report(b.info)
	}
}

// consume takes the logits of one token: it calls OnLogits and, if the sequence
// continues there, appends the next token or ends it.
func (sl *slot) consume(token int, logits []float32) {
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
