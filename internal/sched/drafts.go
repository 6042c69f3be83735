package sched

import (
	"atenia/internal/exec"
	"atenia/internal/spelling"
)

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

// drafts are the tokens that are drafted for answers and verified with them in a step, as
// many as are measured to pay.
type drafts struct {
	usual   Speculation // of requests that leave it open
	propose func(sl *slot, ids []int32) (draft []int32, kind int)
	gain    gain
	model   *drafter // nil = no draft model
	slots   []*slot  // that have drafts in the step, or a guess
	rows    int      // of drafts in the step
}

func newDrafts(cfg *Config, ec exec.Config) drafts {
	return drafts{
		usual: cfg.Speculate, propose: lookUp, slots: make([]*slot, 0, cfg.Slots),
		gain: gain{fixed: cfg.Drafts, times: times{took: make([]timing, min(ec.MaxTokens, ec.MaxLogits)+1)}},
	}
}

// kinds decides which drafts are made for a request that begins: by look-up, and by the
// draft model. With refused some that it asks for are not, by a rule. snapshots: a state
// of the model keeps no positions apart.
func (d *drafts) kinds(r *Request, snapshots bool) (looks, models bool, by Rule, refused bool) {
	how := r.Speculate
	if how == SpeculateUsual {
		how = d.usual
	}
	switch {
	case how <= SpeculateOff || r.MaxTokens < 2:
		return false, false, 0, false
	case snapshots: // what rejected tokens leave in them cannot be taken out
		return false, false, byState, true
	}
	looks, models = how != SpeculateDraft, how != SpeculateLookup && d.model != nil
	if how == SpeculateDraft && d.model == nil || models && !d.model.sees(r) {
		return looks, false, byDrafter, true
	}
	return looks, models, 0, false
}

// name names the model that drafts.
func (d *drafts) name() string {
	if d.model == nil {
		return draftName
	}
	return d.model.name
}

// speculates decides which drafts are made for a request that begins, and keeps the
// reason if they are asked for and cannot be.
func (s *Scheduler) speculates(sl *slot) (looks, models bool) {
	r := &sl.st.req
	looks, models, rule, refused := s.drafts.kinds(r, s.storage.snapshots)
	if refused {
		d := Decision{Request: r.ID, Action: actionPlain, Slot: sl.id + 1, Rule: rule}
		if rule == byDrafter {
			d.Drafter, d.Observed = s.drafts.name(), int64(len(r.Images))
		}
		s.record(d)
	}
	return looks, models
}

// draft makes drafts for the answers of the step that is being filled, and keeps those
// that pay. While prompts are computed there are none: their rows count for sure.
func (s *Scheduler) draft(rows, logits int) {
	drafting, reading := s.drafts.slots[:0], false
	for _, sl := range s.admission.slots {
		sl.draft.drop()
		switch {
		case sl.idle() || sl.stalled || sl.late.waits || sl.blocked:
		case sl.left() > 1:
			reading = true
		case sl.draft.looks:
			sl.propose(s.drafts.propose)
		}
	}
	most := min(rows, logits)
	if reading {
		most = 0
	}
	s.drafts.gain.spent = 0
	if s.drafts.model != nil && most > 0 {
		s.drafts.gain.spent = s.drafts.model.draft(s, most)
	}
	for _, sl := range s.admission.slots {
		if len(sl.draft.ids) > 0 {
			drafting = append(drafting, sl)
		}
	}
	s.drafts.slots = drafting
	if len(drafting) == 0 {
		return
	}
	o := s.drafts.gain.choose(drafting, s.batch.answers, most, s.steps.Load())
	for _, sl := range drafting {
		d := &sl.draft
		d.base, d.rows = len(sl.tokens), d.best
		d.guess = d.rows == 0
		if most > 0 && o.with > 0 {
			sl.recordVerdict(d.rows > 0, o)
		}
	}
}
