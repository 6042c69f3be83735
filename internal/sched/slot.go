package sched

import (
	"atenia/internal/exec"
	"atenia/internal/plan"
	"atenia/internal/sample"
)

// A slot holds one sequence: the request being served, or the pages that the
// last one left for reuse.
type slot struct {
	s       *Scheduler
	id      int     // position at first
	spill   *spill  // the pages of an idle sequence, when they are in a file
	st      *Stream // nil = idle
	by      string  // id of the request whose sequence it is, "" = none
	sampler *sample.Sampler
	limit   sample.Constraint // of the sampler's tokens; nil = none
	ahead   *ahead            // looks what limit allows; nil = no request of the slot had one yet
	late    late
	blocked bool   // its reader is behind: no rows in the step that is filled
	read    bool   // all rows were computed: it ends once they are read
	began   uint64 // admission count: the largest is the youngest
	rank    int64  // of the request: those with larger ones are preempted first
	forkAt  int    // another request goes on from this position; 0 = none
	stalled bool   // preempted: waits for memory until another request ends

	adapter adapter // that the sequence is computed with

	images    []Image     // of the sequence
	spans     []exec.Span // of images, for exec.Run; none in an idle slot
	tokens    []int32     // all tokens of the sequence; in an idle slot only the first done are valid
	done      int         // tokens whose keys and values are cached
	want      int         // first token whose logits are still needed, like all after it
	span      int         // maximum length of the sequence, set at admission
	states    []*State
	pages     [][][]byte // per state, for exec.Run
	draft     draft
	shadow    *shadow    // what the draft model has of the sequence; nil without one
	snapshots []snapshot // snapshots of states that keep no positions apart, in order
}

func (s *Scheduler) newSlot() *slot {
	sl := &slot{s: s, id: len(s.admission.slots), pages: make([][][]byte, len(s.storage.pools))}
	for _, p := range s.storage.pools {
		sl.states = append(sl.states, p.Unbound())
	}
	if s.drafts.model != nil {
		sl.shadow = s.drafts.model.newShadow()
	}
	return sl
}

func (sl *slot) idle() bool { return sl.st == nil }

// left returns how many tokens of a running sequence are still to be computed:
// one while decoding, more during prefill, never zero.
func (sl *slot) left() int { return len(sl.tokens) - sl.done }

// begin starts a request in an idle slot; there must be one.
func (s *Scheduler) begin(st *Stream) error {
	r := &st.req
	var sampler *sample.Sampler
	if r.MaxTokens > 0 {
		var err error
		if sampler, err = sample.New(r.Sampling, s.vocab); err != nil {
			return err
		}
		for _, t := range r.Prompt {
			sampler.Accept(t)
		}
	}
	var limit sample.Constraint
	if sampler != nil && r.Constrain != nil {
		limit = r.Constrain()
	}
	sl, by := s.assign(r)
	sl.adapter = r.adapter()
	st.cached = sl.done
	st.slot, sl.by = sl.id+1, r.ID
	sl.st, sl.sampler, sl.limit, sl.span, sl.stalled = st, sampler, limit, r.span(), false
	sl.want, sl.read = len(r.Prompt)-1, false
	if r.All {
		sl.want = 0
	}
	sl.want = max(sl.want, st.want)
	// With capacity for the whole span, decoding does not allocate.
	if cap(sl.tokens) < sl.span {
		sl.tokens = make([]int32, 0, sl.span)
	}
	sl.tokens = append(append(sl.tokens[:0], r.Prompt...), r.Forced[:st.fed]...)
	sl.setImages(r.Images)
	for i, x := range sl.states {
		if !s.storage.pools[i].Persistent() {
			continue
		}
		if !x.Bound() {
			if err := x.Alloc(); err != nil {
				return err
			}
		}
		x.Seq().Reserve(sl.span)
	}
	s.admission.admit(sl, st.rank(s.steps.Load()))
	st.noted.Slot, st.noted.Adapter = st.slot, r.Adapter
	s.record(st.noted)
	if st.cached > 0 {
		s.record(Decision{Request: r.ID, Action: actionReuse, Slot: st.slot, Other: by, Rule: byPrefix, Observed: int64(st.cached), Limit: int64(len(r.Prompt))})
	}
	sl.startDrafts()
	sl.lookAhead()
	return nil
}

// finish ends the slot's request; its pages stay for prompts with the same
// prefix.
func (sl *slot) finish(f Finish, err error) {
	st := sl.st
	if err == nil && sl.s.intact != nil {
		if err = sl.s.intact(); err != nil {
			f = ""
			defer sl.s.rejectAll(err)
		}
	}
	sl.st, sl.sampler, sl.limit = nil, nil, nil
	sl.dropAhead()
	sl.dropRows()
	sl.endScope(plan.RequestScoped)
	st.end(f, err)
	sl.s.admission.freed = true
	sl.s.kick() // the queue may wait for the slot, stalled sequences for its pages
}

// clear frees what the slot keeps of its sequence; states of its request stay.
func (sl *slot) clear() {
	sl.dropSpill()
	sl.dropSnapshots(0)
	sl.endScope(plan.SlotPersistent)
	sl.done = 0
}

// endScope evicts the states of a lifecycle.
func (sl *slot) endScope(l plan.Lifecycle) {
	for i, x := range sl.states {
		if sl.s.storage.pools[i].Descriptor().Lifecycle == l && x.Bound() {
			_ = x.Evict() // bound, and allowed in every lifecycle
		}
	}
}

// holds reports whether the slot has pages.
func (sl *slot) holds() bool {
	for _, x := range sl.states {
		if x.Len() > 0 {
			return true
		}
	}
	return false
}

// extend makes room for n more tokens in every state. If one state has no room,
// the others keep what they got, for the next attempt.
func (sl *slot) extend(n int) error {
	for i, x := range sl.states {
		end := 1 // a state of a request is one block
		if sl.s.storage.pools[i].Persistent() {
			end = sl.done + n
		}
		if err := x.Extend(end); err != nil {
			return err
		}
		sl.pages[i] = x.Pages()
	}
	return nil
}

// slide frees the pages behind windows.
func (sl *slot) slide() {
	for i, x := range sl.states {
		if sl.s.storage.pools[i].Persistent() && x.Bound() {
			x.Seq().SlideTo(sl.done)
		}
	}
}
