package sched

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
)

// A drafter is a smaller model that drafts for the scheduler's: speculative decoding
// (Leviathan et al., 2023). It takes the most likely token each time, so that a draft is
// a matter of the tokens before it alone, and verification keeps the distribution of the
// answer whatever it proposes. It drafts for all sequences of a step in one batch, and
// reads on demand what they have and it has not seen.
//
// Or it is the first layers of the scheduler's own model with its head (early exit: Elhoushi
// et al., LayerSkip, 2024): then it shares weights, keys and values, has read everything,
// and what it writes behind the sequence the step writes again, to the same bits.
type drafter struct {
	x          *exec.Executor // nil = early layers of the scheduler's
	name       string         // in decisions
	pools      []*StatePool
	vocab      int // tokens that both models have
	costs      times
	acceptance acceptance // over all requests
	steps      int        // of x
	step       exec.Step
	slots      []*slot // that may have drafts in the step
	used       uint64  // counts uses of shadows
	err        error   // why there are no drafts any more
	warn       func(what string, err error)
}

const (
	// modelDrafts is the most tokens that a model drafts for a request in a step.
	modelDrafts = 16
	// reachTokens is over how many tokens of an answer the time is spread that a drafter
	// takes to read what came before them: most answers end before MaxTokens.
	reachTokens = 256
	// readPart is which part of a step it may read for, while several answers wait.
	readPart = 2
	// coldSteps are the first steps of a drafter, which bring its weights in.
	coldSteps = 2
	// firstRead is how many rows a drafter reads before its speed is known.
	firstRead = 16
	// idleTokens is after how many tokens without drafts what was known of their
	// acceptance counts half, so that a drafter is tried again.
	idleTokens = 256
)

// newDrafter makes a drafter for sequences of so many slots of an executor with the
// configuration own. The caller keeps the draft model's if it fails.
func newDrafter(cfg *Config, vocab int, own exec.Config) (*drafter, error) {
	if cfg.Early {
		dr := &drafter{name: earlyName, vocab: vocab, warn: cfg.Warn, slots: make([]*slot, 0, cfg.Slots)}
		dr.step.Early = true
		dr.costs.took = make([]timing, own.MaxLogits+1)
		return dr, nil
	}
	x := cfg.Draft
	ec := x.Config()
	if most := min(ec.MaxTokens, ec.MaxLogits); cfg.Slots > most {
		return nil, fmt.Errorf("sched config: the draft model's steps have %d rows, want %d or more", most, cfg.Slots)
	}
	if err := checkDraft(x); err != nil {
		return nil, err
	}
	dr := &drafter{x: x, name: draftName, vocab: min(vocab, x.Vocab()), warn: cfg.Warn, slots: make([]*slot, 0, cfg.Slots)}
	dr.costs.took = make([]timing, ec.MaxTokens+1)
	if err := dr.makePools(cfg.DraftBytes, cfg.Account); err != nil {
		dr.closePools()
		return nil, err
	}
	return dr, nil
}

// makePools creates one pool per state and divides the budget among them; 0 means none.
func (dr *drafter) makePools(budget int64, a *ledger.Account) error {
	ec, descriptors := dr.x.Config(), dr.x.States()
	for i, c := range divide(descriptors, budget, ec.Context, ec.MaxTokens, 0) {
		c.Account = a
		p, err := NewStatePool(descriptors[i], c.Config)
		if err != nil {
			return err
		}
		dr.pools = append(dr.pools, p)
	}
	return nil
}

// checkDraft returns why a model cannot draft, nil if it can.
func checkDraft(x *exec.Executor) error {
	if !x.Decodes() {
		return errors.New("it does not generate text")
	}
	for _, d := range x.States() {
		if d.PageTokens == 0 {
			return fmt.Errorf("it has states that keep no positions apart (%s): rejected tokens could not be taken out of them; choose a model with attention layers alone", d.Kind)
		}
	}
	return nil
}

// heldBytes returns the bytes of keys and values.
func (dr *drafter) heldBytes() (n int64) {
	for _, p := range dr.pools {
		c := p.Cache()
		n += c.Stats().HeldBytes
	}
	return n
}

// trim gives back the memory of shadows whose slots do not decode.
func (dr *drafter) trim(s *Scheduler) {
	if dr == nil {
		return
	}
	for dr.evict(s, nil) {
	}
	for _, p := range dr.pools {
		c := p.Cache()
		c.Trim()
	}
}

// close frees what the drafter has; the shadows must be empty.
func (dr *drafter) close() {
	dr.closePools()
	if dr.x != nil {
		dr.x.Close()
	}
}

// in returns the executor that drafts for a scheduler, and how many tokens a sequence may
// have in it; 0 = it cannot draft now, because weights are streamed.
func (dr *drafter) in(s *Scheduler) (x *exec.Executor, context int) {
	switch {
	case dr.x != nil:
		return dr.x, dr.x.Config().Context
	case !s.x.Early():
		return s.x, 0
	}
	return s.x, s.context
}

func (dr *drafter) closePools() {
	for _, p := range dr.pools {
		p.Close()
	}
}

// draft makes drafts for the answers of the step that is being filled, of which at most
// most rows are verified: for those whose last tokens look-up did not find, or where it
// comes true less often. It returns the time that they took.
func (dr *drafter) draft(s *Scheduler, most int) (spent time.Duration) {
	list := dr.slots[:0]
	_, context := dr.in(s)
	for _, sl := range s.admission.slots {
		if sl.idle() || sl.stalled || sl.late.waits || !sl.draft.models || sl.left() != 1 {
			continue
		}
		d, h := &sl.draft, sl.shadow
		h.most = min(sl.mayDraft(), modelDrafts, context-len(sl.tokens))
		if h.most < 1 || len(d.ids) > 0 && d.chance() >= d.acceptance[byModel].chance() {
			continue
		}
		list = append(list, sl)
	}
	dr.slots = list
	if len(list) == 0 || dr.err != nil {
		return 0
	}
	depth, o := dr.plan(&s.drafts.gain, s.batch.answers, most, s.steps.Load())
	if depth == 0 {
		for _, sl := range list {
			sl.declineDrafts(o)
		}
		return 0
	}
	began := time.Now()
	err := fault.Files(func() error { return dr.write(s, depth, o) })
	spent = time.Since(began)
	if err != nil { // answers go on without
		dr.fail(s, err)
	}
	return spent
}

// declineDrafts notes that drafts of the model do not pay for a request now.
func (sl *slot) declineDrafts(o estimate) {
	h, d := sl.shadow, &sl.draft
	if h.idle++; h.idle >= idleTokens {
		h.idle = 0
		x := &d.acceptance[byModel]
		x.tested, x.accepted = x.tested/2, x.accepted/2
	}
	if o.with > 0 && len(d.ids) == 0 {
		d.kind = byModel
		sl.recordVerdict(false, o)
	}
}

// fail ends drafting. The target's states are not touched by it.
func (dr *drafter) fail(s *Scheduler, err error) {
	dr.err = err
	for _, sl := range dr.slots {
		d := &sl.draft
		if d.kind == byModel {
			d.drop()
		}
		s.record(Decision{Request: sl.by, Action: actionPlain, Slot: sl.id + 1, Rule: byDrafter, Drafter: dr.name})
	}
	for _, sl := range s.admission.slots {
		sl.shadow.empty()
	}
	if dr.warn != nil {
		dr.warn("the draft model failed; continuing without", err)
	}
}

// plan chooses how many tokens are drafted for each of the slots: so many that a token
// takes the least time with that of the drafter, 0 = none pay.
func (dr *drafter) plan(g *gain, answers, most int, step uint64) (depth int, o estimate) {
	if g.fixed > 0 {
		return min(g.fixed, modelDrafts), o
	}
	alone := g.expect(answers, step)
	if alone == 0 || most == 0 {
		return 0, o
	}
	o.without = alone / time.Duration(answers)
	longest := 2 * alone
	if slices.ContainsFunc(dr.slots, dr.lags) {
		longest -= alone / readPart
	}
	tokens, rows, spent := float64(answers), answers, time.Duration(0)
	least := float64(o.without) / leastGain
	for _, sl := range dr.slots {
		sl.draft.next = sl.draft.acceptance[byModel].chance()
	}
	for k := 1; k <= modelDrafts; k++ {
		n := 0
		for _, sl := range dr.slots {
			if d := &sl.draft; k <= sl.shadow.most && d.next >= leastAcceptance {
				tokens += d.next
				d.next *= d.acceptance[byModel].chance()
				n++
			}
		}
		if rows += n; n == 0 || rows-answers > most || rows > 2*g.most+1 {
			break
		}
		if k == 1 { // after the last step it also reads the token that was chosen
			spent = dr.costs.expect(min(2*n, len(dr.costs.took)-1), step)
		} else {
			spent += dr.costs.expect(n, step)
		}
		took := g.expect(rows, step)
		if answers > 1 && took+spent > longest {
			break
		}
		each := float64(took+spent) / tokens
		if o.with == 0 || each < float64(o.with) {
			o.with = time.Duration(each)
		}
		if each < least {
			least, depth = each, k
		}
	}
	return depth, o
}

// lags reports whether a sequence has to be read before there are drafts for it.
func (dr *drafter) lags(sl *slot) bool {
	h := sl.shadow
	return dr.x != nil && (h.fresh || len(sl.tokens)-len(h.held) > modelDrafts)
}

// reads returns how many rows of sequences the drafter may read before a step whose
// answers wait: about as many as take as long as the step.
func (dr *drafter) reads(g *gain, answers int, step uint64) int {
	if dr.x == nil {
		return answers // the last token of each
	}
	most := dr.x.Config().MaxTokens
	if g.fixed > 0 {
		return most
	}
	known := dr.costs.most
	if known == 0 {
		return min(most, firstRead)
	}
	alone := g.expect(answers, step)
	if answers > 1 {
		alone /= readPart
	}
	n := min(most, 2*known)
	for n > answers && dr.costs.expect(n, step) > alone {
		n--
	}
	return n
}

// affords reports whether it pays to read so many rows of a request for the drafts of
// the tokens to come.
func (dr *drafter) affords(sl *slot, rows int, o estimate, step uint64) bool {
	if o.with == 0 || rows <= modelDrafts || dr.costs.most == 0 {
		return true
	}
	left := sl.st.req.MaxTokens - (len(sl.tokens) - len(sl.st.req.Prompt))
	each := float64(dr.costs.expect(dr.costs.most, step)) / float64(dr.costs.most)
	return each*float64(rows) < float64(o.without-o.with)*float64(min(left, reachTokens))
}

// write drafts up to depth tokens for each of the slots.
func (dr *drafter) write(s *Scheduler, depth int, o estimate) error {
	room := dr.reads(&s.drafts.gain, s.batch.answers, s.steps.Load())
	st := &dr.step
	st.Runs, st.Tokens, st.Requested = st.Runs[:0], st.Tokens[:0], st.Requested[:0]
	for _, sl := range dr.slots {
		h, d := sl.shadow, &sl.draft
		h.want, h.reads = 0, 0
		at := sl.done
		if dr.x != nil {
			dr.follow(s, sl)
			at = len(h.held)
		}
		behind := len(sl.tokens) - at
		n := min(behind, room)
		if n == 0 || !dr.knows(sl.tokens[at:at+n]) {
			continue
		}
		if s.drafts.gain.fixed == 0 && !dr.affords(sl, behind, o, s.steps.Load()) {
			sl.declineDrafts(o)
			continue
		}
		want := 0
		if n == behind {
			want = min(depth, h.most)
		}
		if !dr.extend(s, sl, at+n+max(0, want-1)) {
			continue
		}
		room -= n
		h.want, h.reads = want, n
		dr.add(sl, sl.tokens[at:at+n], at)
		if want > 0 {
			d.ids, d.kind = d.buf[:0], byModel
			h.idle = 0
			h.last = len(st.Requested)
			st.Requested = append(st.Requested, int32(len(st.Tokens)-1))
		}
	}
	defer dr.releaseRoom()
	x, err := dr.run(s)
	if err != nil {
		return err
	}
	left := 0
	for _, sl := range dr.slots {
		h := sl.shadow
		if h.reads == 0 {
			continue
		}
		if dr.x != nil {
			h.held = append(h.held, sl.tokens[len(h.held):len(h.held)+h.reads]...)
		}
		for _, x := range h.states {
			x.Seq().SlideTo(len(h.held) - 1) // drafts come after it, and go back to it
		}
		if h.want > 0 {
			sl.draft.ids = append(sl.draft.ids, dr.likely(x, h.last))
			left = max(left, h.want)
		}
	}
	for k := 1; k < left; k++ {
		st.Runs, st.Tokens, st.Requested = st.Runs[:0], st.Tokens[:0], st.Requested[:0]
		for _, sl := range dr.slots {
			if h := sl.shadow; h.want > k {
				h.last = len(st.Tokens)
				st.Requested = append(st.Requested, int32(h.last))
				dr.add(sl, sl.draft.ids[k-1:k], len(sl.tokens)-1+k)
			}
		}
		if x, err = dr.run(s); err != nil {
			return err
		}
		for _, sl := range dr.slots {
			if h, d := sl.shadow, &sl.draft; h.want > k {
				if dr.x != nil {
					h.held = append(h.held, d.ids[k-1])
				}
				d.ids = append(d.ids, dr.likely(x, h.last))
			}
		}
	}
	for _, sl := range dr.slots {
		d := &sl.draft
		if sl.limit != nil && sl.shadow.want > 0 {
			d.ids = d.ids[:sl.limit.Follows(d.ids)]
		}
	}
	return nil
}

// releaseRoom takes back the room behind sequences that early layers wrote to.
func (dr *drafter) releaseRoom() {
	if dr.x != nil {
		return
	}
	for _, sl := range dr.slots {
		if sl.shadow.reads > 0 {
			sl.truncate(sl.done)
		}
	}
}

// add adds a slot's tokens to the step.
func (dr *drafter) add(sl *slot, tokens []int32, at int) {
	st, h := &dr.step, sl.shadow
	r := exec.Run{First: len(st.Tokens), Len: len(tokens), Pos: at, Span: h.span, Pages: h.pages}
	if dr.x == nil {
		r.Span, r.Pages, r.Spans, r.LowRank, r.Strength = sl.span, sl.pages, sl.spans, sl.adapter.of, sl.adapter.strength
	}
	st.Runs = append(st.Runs, r)
	st.Tokens = append(st.Tokens, tokens...)
}

// knows reports whether the drafter has the tokens: vocabularies may be padded to
// different sizes.
func (dr *drafter) knows(tokens []int32) bool {
	for _, t := range tokens {
		if int(t) >= dr.vocab {
			return false
		}
	}
	return true
}

// run runs the step, if it has rows, times it, and returns where its logits are.
func (dr *drafter) run(s *Scheduler) (x *exec.Executor, err error) {
	x, _ = dr.in(s)
	rows := len(dr.step.Tokens)
	if rows == 0 {
		return x, nil
	}
	began := time.Now()
	if err := x.Step(&dr.step); err != nil {
		return x, err
	}
	if dr.steps++; dr.steps > coldSteps {
		dr.costs.observe(rows, time.Since(began), s.steps.Load())
	}
	return x, nil
}

// likely returns the most likely token of a row of logits.
func (dr *drafter) likely(x *exec.Executor, row int) int32 {
	best, most := int32(0), float32(math.Inf(-1))
	for i, v := range x.Logits(&dr.step, row)[:dr.vocab] {
		if v > most {
			best, most = int32(i), v
		}
	}
	return best
}
