package sched

// assign chooses the idle slot for a request and gives it the longest computed
// prefix of the prompt in any slot, sharing the pages if that is another one. Of
// the idle slots it takes the one whose pages are worth the least. by is whose prefix
// it was.
func (s *Scheduler) assign(r *Request) (to *slot, by string) {
	var from *slot
	keep := 0
	for _, sl := range s.admission.slots {
		if n := sl.shares(r); n > keep {
			from, keep = sl, n
		}
	}
	if p, n := s.kept.memory.find(r); n > keep {
		from, keep = p.slot, n
	}
	read := s.findRead(r, &keep)
	if read != nil {
		from = read.p.slot
	}
	m := s.findRemembered(r, &keep)
	if m != nil {
		from, read = nil, nil
	}
	least := 0
	for _, sl := range s.admission.slots {
		if !sl.idle() {
			continue
		}
		lost := sl.done
		if sl.spill != nil {
			lost = sl.spill.done
		}
		if sl == from {
			lost -= keep
		}
		if to == nil || lost < least || lost == least && sl == from {
			to, least = sl, lost
		}
	}
	if from != nil {
		by = from.by
		if from.idle() { // it was used
			s.admission.clock++
			from.began = s.admission.clock
		}
	}
	var old *prefix // what would be lost
	if least >= blockTokens || from != to && least > 0 {
		if old = s.detach(to); old != nil && from == to {
			from = old.slot
		}
	}
	if m != nil {
		to.adoptRemembered(m, keep)
		by = "the checkpoint"
	} else {
		to.adopt(from, keep)
	}
	s.kept.disk.hit(to.done, read != nil) // not what was found: there may be no memory to go on from it
	if old != nil {
		s.keep(old)
	}
	return to, by
}

// shares returns how many computed tokens of the slot the request can reuse. The
// last token of a prompt is always computed, because its logits are needed.
func (sl *slot) shares(r *Request) int {
	if r.All || sl.s.storage.scoped || sl.adapter != r.adapter() { // the logits of all tokens are requested
		return 0
	}
	// Cached keys are rotated for the request length they were computed with.
	if x := sl.s.x; x.RopeClass(sl.span) != x.RopeClass(r.span()) {
		return 0
	}
	same := commonPrefix(sl.tokens, r.Prompt, min(len(r.Prompt)-1, sl.done))
	return sl.resumable(sameImages(sl.images, r.Images, same, sl.s.x.Whole()))
}

// adopt makes the slot's sequence the first keep tokens of from.
func (sl *slot) adopt(from *slot, keep int) {
	if keep == 0 {
		sl.clear()
		return
	}
	sl.dropSpill() // it is another sequence's: that of from is in memory
	if err := sl.continueAt(from, keep); err != nil {
		sl.clear() // what cannot be continued is computed
	}
}
