package sched

// mostDrafts is the most tokens that are drafted for a request in a step.
const mostDrafts = 32

// draftKinds is the number of kinds of drafts whose acceptance is measured apart: matches
// of look-up by their length, and those of a draft model.
const (
	byModel    = 4
	draftKinds = 5
)

// The drafters in decisions.
const (
	draftName = "the draft model"
	earlyName = "early layers"
)

// A draft is what is expected of a slot's sequence.
type draft struct {
	looks      bool // by look-up
	models     bool // by the draft model
	lookup     lookup
	buf        [mostDrafts]int32
	ids        []int32 // the tokens that may follow those of the sequence
	base       int     // position of the first of them
	rows       int     // of them in this step
	kind       int     // of draftKinds
	guess      bool    // the first of them has no row, but whether it comes is noted
	failed     bool    // one of them was rejected
	acceptance [draftKinds]acceptance

	keep, best int     // of ids, while the step is filled
	next       float64 // probability that the next one is accepted

	verdict verdict
	notes   int // decisions about verdicts
}

// A verdict is whether drafts pay.
type verdict uint8

const (
	untried verdict = iota
	pays
	doesNot
)

// mostVerdicts is how many verdicts about a request are kept as decisions.
const mostVerdicts = 8

func (d *draft) chance() float64 { return d.acceptance[d.kind].chance() }

// begin empties the draft for a new request, whose drafts are made as looks and models
// say.
func (d *draft) begin(looks, models bool, span int) {
	d.looks, d.models, d.acceptance = looks, models, [draftKinds]acceptance{}
	d.verdict, d.notes = untried, 0
	d.drop()
	if looks {
		d.lookup.reset(span)
	}
}

// drop forgets what was drafted for a step.
func (d *draft) drop() { d.ids, d.rows, d.guess, d.failed = d.ids[:0], 0, false, false }

// kindOf returns the kind of drafts of a match.
func kindOf(match int) int {
	switch {
	case match < 5:
		return 0
	case match < 9:
		return 1
	case match < 20:
		return 2
	}
	return 3
}

// sees reports whether a drafter can read a request.
func (dr *drafter) sees(r *Request) bool {
	return dr.err == nil && (len(r.Images) == 0 || dr.x == nil)
}

// startDrafts prepares the drafts of a request that begins.
func (sl *slot) startDrafts() {
	looks, models := sl.s.speculates(sl)
	d := &sl.draft
	d.begin(looks, models, sl.span)
	if models {
		sl.s.drafts.model.acceptance.decay()
		d.acceptance[byModel] = sl.s.drafts.model.acceptance.prior()
		sl.shadow.begin(sl.span)
	}
}

// mayDraft returns how many tokens may be drafted for a request: the last token comes
// from the row before.
func (sl *slot) mayDraft() int {
	r := &sl.st.req
	made := len(sl.tokens) - len(r.Prompt)
	if made < 1 {
		return 0
	}
	return max(0, min(mostDrafts, r.MaxTokens-made-1))
}

// propose drafts the tokens after those of a sequence, so many as it may have.
func (sl *slot) propose(how func(sl *slot, ids []int32) (draft []int32, kind int)) {
	d, n := &sl.draft, sl.mayDraft()
	if n == 0 {
		return
	}
	d.ids, d.kind = how(sl, d.buf[:0:n])
	if sl.limit != nil && len(d.ids) > 0 {
		d.ids = d.ids[:sl.limit.Follows(d.ids)]
	}
}

// lookUp drafts what followed the last tokens before.
func lookUp(sl *slot, ids []int32) ([]int32, int) {
	ids, match := sl.draft.lookup.find(sl.tokens, ids)
	return ids, kindOf(match)
}

// recordVerdict keeps a change of whether drafts pay as a decision.
func (sl *slot) recordVerdict(pay bool, o estimate) {
	v, a := doesNot, actionPlain
	if pay {
		v, a = pays, actionDraft
	}
	d := &sl.draft
	if v == d.verdict || d.notes >= mostVerdicts {
		return
	}
	d.verdict, d.notes = v, d.notes+1
	sl.s.record(Decision{Request: sl.by, Action: a, Slot: sl.id + 1, Rule: byGain, Observed: int64(o.with), Limit: int64(o.without), Drafter: sl.maker()})
}

// maker names the drafter in decisions; "" = look-up.
func (sl *slot) maker() string {
	if sl.draft.kind == byModel {
		return sl.s.drafts.name()
	}
	return ""
}

// reserveDrafts makes room for the rows of a slot's drafts, after the one that is there, and
// returns for how many. Nothing is evicted for them.
func (sl *slot) reserveDrafts() int {
	d := &sl.draft
	if d.rows > 0 && sl.extend(1+d.rows) != nil {
		sl.truncate(sl.done + 1)
		d.rows = 0
	}
	return d.rows
}

// verify reports whether a row of a step continues the sequence: the row of a drafted
// token does if that is the token which was chosen.
func (sl *slot) verify(token int) bool {
	d := &sl.draft
	if token < d.base || d.rows == 0 {
		return true
	}
	if sl.idle() || d.failed {
		return false
	}
	ok := sl.tokens[token] == d.ids[token-d.base]
	sl.recordAcceptance(ok)
	if d.failed = !ok; ok {
		sl.done++
		sl.st.accepted++
		if d.kind == byModel {
			sl.st.byModel.accepted++
		}
		sl.s.batch.info.Accepted++
	}
	return ok
}

// recordAcceptance learns whether a drafted token was accepted whose predecessors were.
func (sl *slot) recordAcceptance(ok bool) {
	d := &sl.draft
	d.acceptance[d.kind].note(ok)
	if d.kind == byModel && sl.s.drafts.model != nil {
		sl.s.drafts.model.acceptance.note(ok)
	}
}

// dropRejected drops what a step computed for drafts that were rejected.
func (sl *slot) dropRejected() {
	d := &sl.draft
	if d.guess && !sl.idle() && d.base < len(sl.tokens) {
		sl.recordAcceptance(sl.tokens[d.base] == d.ids[0])
	}
	if d.rows > 0 {
		sl.truncate(sl.done)
		sl.slide()
	}
	d.drop()
}

// truncate drops what the states have beyond n positions.
func (sl *slot) truncate(n int) {
	for i, x := range sl.states {
		if !sl.s.storage.pools[i].Persistent() || x.Len() <= n {
			continue
		}
		if x.Reset(n) != nil { // it is computed again
			sl.clear()
			return
		}
		sl.pages[i] = x.Pages()
	}
}
