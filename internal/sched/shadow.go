package sched

// A shadow is what the drafter has computed of a slot's sequence. The sequence may have
// become another meanwhile: what both begin with stays, and the rest is dropped when
// the next draft is made. So it needs not be told of rejected tokens, preempted
// sequences, or slots that are given to other requests.
type shadow struct {
	states []*State
	pages  [][][]byte // per state, for exec.Run
	held   []int32    // tokens with keys and values
	span   int        // for which they were computed
	used   uint64     // the largest was used last
	fresh  bool       // the sequence is another request's than it was

	most  int // tokens that may be drafted now
	want  int // that are drafted now
	reads int // rows of the first step
	last  int // row of the slot's logits in it
	idle  int // tokens since drafts were refused
}

// newShadow returns the empty shadow of a slot.
func (dr *drafter) newShadow() *shadow {
	h := &shadow{pages: make([][][]byte, len(dr.pools))}
	for _, p := range dr.pools {
		h.states = append(h.states, p.Unbound())
	}
	return h
}

// begin prepares the shadow for a request.
func (h *shadow) begin(span int) {
	h.fresh, h.idle = true, 0
	if n := span + modelDrafts; cap(h.held) < n {
		h.held = append(make([]int32, 0, n), h.held...)
	}
}

// empty frees what the shadow holds.
func (h *shadow) empty() {
	for i, x := range h.states {
		_ = x.Deinit() // allowed in every lifecycle
		h.pages[i] = nil
	}
	h.held = h.held[:0]
}

// cut makes the shadow the first n of its tokens, without room for further ones, or of none
// if they cannot be continued.
func (h *shadow) cut(n int) {
	for i, x := range h.states {
		if x.Len() <= n {
			continue
		}
		if n == 0 || !x.Resumable(n) || x.Reset(n) != nil {
			h.empty()
			return
		}
		h.pages[i] = x.Pages()
	}
	h.held = h.held[:n]
}

// follow makes the slot's shadow a prefix of its sequence, the longest that any shadow
// has if the sequence is new to it. The last token is always computed, since its logits
// are wanted.
func (dr *drafter) follow(s *Scheduler, sl *slot) {
	h := sl.shadow
	dr.used++
	h.used = dr.used
	most := len(sl.tokens) - 1
	span := min(sl.span, dr.x.Config().Context)
	class := dr.x.RopeClass(span)
	n := 0
	if dr.x.RopeClass(h.span) == class {
		n = commonPrefix(h.held, sl.tokens, min(most, len(h.held)))
	}
	if h.fresh {
		h.fresh = false
		if from, m := dr.longest(s, sl, most, class); m >= n+blockTokens {
			if dr.share(h, from.shadow, m) {
				n = m
			}
		}
	}
	h.cut(n)
	h.span = span
	for _, x := range h.states {
		if x.Bound() || x.Alloc() == nil {
			x.Seq().Reserve(span)
		}
	}
}

// longest returns the slot whose shadow shares the longest prefix with another's
// sequence.
func (dr *drafter) longest(s *Scheduler, to *slot, most, class int) (from *slot, n int) {
	for _, sl := range s.admission.slots {
		h := sl.shadow
		if sl == to || dr.x.RopeClass(h.span) != class {
			continue
		}
		if m := commonPrefix(h.held, to.tokens, min(most, len(h.held))); m > n {
			from, n = sl, m
		}
	}
	return from, n
}

// share makes a shadow the first n tokens of another, in the same pages, and reports
// whether it could.
func (dr *drafter) share(to, from *shadow, n int) bool {
	for _, x := range from.states {
		if !x.Resumable(n) {
			return false
		}
	}
	to.empty()
	for i, x := range from.states {
		f, err := x.Fork()
		if err == nil {
			to.states[i] = f
			err = f.Reuse(n)
		}
		if err != nil {
			to.empty()
			return false
		}
		to.pages[i] = f.Pages()
	}
	to.held = append(to.held, from.held[:n]...)
	return true
}

// extend makes room for n positions in all, of idle shadows' if there is none else. What
// running ones have stays theirs: then there are no drafts. Nothing is evicted for early
// layers, whose positions are the sequence's own.
func (dr *drafter) extend(s *Scheduler, sl *slot, n int) bool {
	if dr.x == nil {
		if sl.extend(n-sl.done) != nil {
			sl.truncate(sl.done)
			return false
		}
		return true
	}
	h := sl.shadow
	for {
		err := error(nil)
		for i, x := range h.states {
			if err = x.Extend(n); err != nil {
				break
			}
			h.pages[i] = x.Pages()
		}
		if err == nil {
			return true
		}
		if !dr.evict(s, h) {
			h.cut(len(h.held))
			return false
		}
	}
}

// evict empties the shadow that was not used for longest of the slots that do not
// decode.
func (dr *drafter) evict(s *Scheduler, but *shadow) bool {
	var least *shadow
	for _, sl := range s.admission.slots {
		if h := sl.shadow; h != but && len(h.held) > 0 && (sl.idle() || sl.stalled) && (least == nil || h.used < least.used) {
			least = h
		}
	}
	if least == nil {
		return false
	}
	least.empty()
	return true
}
