package sched

import "atenia/internal/spelling"

// A Speculation says which drafts the tokens of a request are verified with. The
// tokens, and all that is said of them, are the same with any: at every position the
// request's own sampler chooses from the model's logits, and a drafted token is kept
// while it is what was chosen.
type Speculation uint8

// The speculations.
const (
	SpeculateUsual  Speculation = iota // the scheduler's
	SpeculateOff                       // none
	SpeculateAuto                      // whatever is measured to pay
	SpeculateLookup                    // what followed the last tokens before, in prompt or answer
	SpeculateDraft                     // what the draft model continues with
)

var speculationNames = []string{"", "off", "auto", "lookup", "draft"}

func (s Speculation) String() string               { return spelling.Enum(speculationNames, "Speculation", s) }
func (s Speculation) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s *Speculation) UnmarshalText(b []byte) error {
	return spelling.ParseEnum(speculationNames, "speculation", b, s)
}

// mostDrafts is the most tokens that are drafted for a request in a step.
const mostDrafts = 32

// hopes is the number of kinds of drafts whose acceptance is measured apart: matches
// of look-up by their length, and those of a draft model.
const (
	byModel = 4
	hopes   = 5
)

// The drafters in decisions.
const (
	draftName = "the draft model"
	earlyName = "early layers"
)

// A draft is what is expected of a slot's sequence.
type draft struct {
	looks  bool // by look-up
	models bool // by the draft model
	lookup lookup
	buf    [mostDrafts]int32
	ids    []int32 // the tokens that may follow those of the sequence
	base   int     // position of the first of them
	rows   int     // of them in this step
	kind   int     // of hopes
	guess  bool    // the first of them has no row, but whether it comes is noted
	failed bool    // one of them was rejected
	hopes  [hopes]hope

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

func (d *draft) chance() float64 { return d.hopes[d.kind].chance() }

// begin empties the draft for a new request, whose drafts are made as looks and models
// say.
func (d *draft) begin(looks, models bool, span int) {
	d.looks, d.models, d.hopes = looks, models, [hopes]hope{}
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

// speculates decides which drafts are made for a request that begins, and keeps the
// reason if they are asked for and cannot be.
func (s *Scheduler) speculates(sl *slot) (looks, models bool) {
	r := &sl.st.req
	how := r.Speculate
	if how == SpeculateUsual {
		how = s.speculation
	}
	switch {
	case how <= SpeculateOff || r.MaxTokens < 2:
		return false, false
	case s.marking: // what rejected tokens leave in them cannot be taken out
		s.note(Decision{Request: r.ID, Action: Plain, Slot: sl.id + 1, Rule: ByState})
		return false, false
	}
	looks, models = how != SpeculateDraft, how != SpeculateLookup && s.drafter != nil
	if how == SpeculateDraft && s.drafter == nil || models && !s.drafter.sees(r) {
		models = false
		s.note(Decision{Request: r.ID, Action: Plain, Slot: sl.id + 1, Rule: ByDrafter, Drafter: s.drafterName(), Observed: int64(len(r.Images))})
	}
	return looks, models
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
		sl.s.drafter.hope.fade()
		d.hopes[byModel] = sl.s.drafter.hope.prior()
		sl.shadow.begin(sl.span)
	}
}

// draft makes drafts for the answers of the step that is being filled, and keeps those
// that pay. While prompts are computed there are none: their rows count for sure.
func (s *Scheduler) draft(rows, logits int) {
	drafting, reading := s.drafting[:0], false
	for _, sl := range s.slots {
		sl.draft.drop()
		switch {
		case sl.idle() || sl.parked || sl.late.waits || sl.held:
		case sl.left() > 1:
			reading = true
		case sl.draft.looks:
			sl.propose(s.propose)
		}
	}
	most := min(rows, logits)
	if reading {
		most = 0
	}
	s.gain.spent = 0
	if s.drafter != nil && most > 0 {
		s.gain.spent = s.drafter.draft(s, most)
	}
	for _, sl := range s.slots {
		if len(sl.draft.ids) > 0 {
			drafting = append(drafting, sl)
		}
	}
	s.drafting = drafting
	if len(drafting) == 0 {
		return
	}
	o := s.gain.choose(drafting, s.answers, most, s.steps.Load())
	for _, sl := range drafting {
		d := &sl.draft
		d.base, d.rows = len(sl.tokens), d.best
		d.guess = d.rows == 0
		if most > 0 && o.with > 0 {
			sl.judge(d.rows > 0, o)
		}
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

// judge keeps a change of whether drafts pay as a decision.
func (sl *slot) judge(pay bool, o outlook) {
	v, a := doesNot, Plain
	if pay {
		v, a = pays, Drafts
	}
	d := &sl.draft
	if v == d.verdict || d.notes >= mostVerdicts {
		return
	}
	d.verdict, d.notes = v, d.notes+1
	sl.s.note(Decision{Request: sl.by, Action: a, Slot: sl.id + 1, Rule: ByGain, Observed: int64(o.with), Limit: int64(o.without), Drafter: sl.maker()})
}

// maker names the drafter in decisions; "" = look-up.
func (sl *slot) maker() string {
	if sl.draft.kind == byModel {
		return sl.s.drafterName()
	}
	return ""
}

// drafterName names the model that drafts.
func (s *Scheduler) drafterName() string {
	if s.drafter == nil {
		return draftName
	}
	return s.drafter.name
}

// spread makes room for the rows of a slot's drafts, after the one that is there, and
// returns for how many. Nothing is evicted for them.
func (sl *slot) spread() int {
	d := &sl.draft
	if d.rows > 0 && sl.extend(1+d.rows) != nil {
		sl.truncate(sl.done + 1)
		d.rows = 0
	}
	return d.rows
}

// reached reports whether a row of a step continues the sequence: the row of a drafted
// token does if that is the token which was chosen.
func (sl *slot) reached(token int) bool {
	d := &sl.draft
	if token < d.base || d.rows == 0 {
		return true
	}
	if sl.idle() || d.failed {
		return false
	}
	ok := sl.tokens[token] == d.ids[token-d.base]
	sl.tested(ok)
	if d.failed = !ok; ok {
		sl.done++
		sl.st.accepted++
		if d.kind == byModel {
			sl.st.byModel.accepted++
		}
		sl.s.info.Accepted++
	}
	return ok
}

// tested learns whether a drafted token was accepted whose predecessors were.
func (sl *slot) tested(ok bool) {
	d := &sl.draft
	d.hopes[d.kind].note(ok)
	if d.kind == byModel && sl.s.drafter != nil {
		sl.s.drafter.hope.note(ok)
	}
}

// settle drops what a step computed for drafts that were rejected.
func (sl *slot) settle() {
	d := &sl.draft
	if d.guess && !sl.idle() && d.base < len(sl.tokens) {
		sl.tested(sl.tokens[d.base] == d.ids[0])
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
		if !sl.s.pools[i].Persistent() || x.Len() <= n {
			continue
		}
		if x.Reset(n) != nil { // it is computed again
			sl.clear()
			return
		}
		sl.pages[i] = x.Pages()
	}
}
