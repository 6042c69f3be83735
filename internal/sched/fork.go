package sched

// forkTokens is the least that a request gains by waiting until another has
// computed the prefix of both.
const forkTokens = 16

// awaitsPrefix reports whether a request waits for one that is computing a longer prefix
// of its prompt than there is now. When that is done it begins there, in the same
// pages: n answers of one prompt, and conversations with one system prompt that
// come at once, compute it once. The step ends its chunk where it is.
func (s *Scheduler) awaitsPrefix(st *Stream) bool {
	if sl := st.lead; sl == nil || sl.began != st.leadBegan || !sl.leads(st.forkAt) {
		st.lead, st.forkAt = s.leader(&st.req)
		if st.lead == nil {
			return false
		}
		st.leadBegan = st.lead.began
	}
	sl := st.lead
	if sl.forkAt == 0 || st.forkAt < sl.forkAt {
		sl.forkAt = st.forkAt
	}
	s.recordWait(st, Decision{Other: sl.by, Rule: byPrefix, Observed: int64(st.forkAt), Limit: int64(len(st.req.Prompt))})
	return true
}

// leads reports whether a slot computes a prompt and has not come to a position. One whose
// reader is behind does not: that may be waiting for who would wait.
func (sl *slot) leads(at int) bool {
	return !sl.idle() && !sl.stalled && !sl.st.hasUnread() && sl.done < at && at < len(sl.st.req.Prompt)
}

// leader returns the slot that computes the longest prefix of a prompt, if it is
// worth to wait for, and its length.
func (s *Scheduler) leader(r *Request) (lead *slot, at int) {
	if r.All || s.storage.scoped {
		return nil, 0
	}
	now := 0
	class := s.x.RopeClass(r.span())
	for _, sl := range s.admission.slots {
		now = max(now, sl.shares(r))
		if sl.idle() || sl.adapter != r.adapter() || s.x.RopeClass(sl.span) != class {
			continue
		}
		n := commonPrefix(sl.tokens, r.Prompt, min(len(r.Prompt), len(sl.st.req.Prompt))-1)
		n = sameImages(sl.images, r.Images, n, s.x.Whole())
		if sl.leads(n) && n > at {
			lead, at = sl, n
		}
	}
	if at < now+forkTokens {
		return nil, 0
	}
	if at < s.reusable(r, now)+forkTokens {
		return nil, 0
	}
	return lead, at
}

// toFork returns how many tokens a step may compute before another request goes on
// from there.
func (sl *slot) toFork() int {
	if n := sl.forkAt - sl.done; n > 0 {
		return n
	}
	return sl.left()
}
