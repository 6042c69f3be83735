package sched

// A mark is a snapshot of those states of a sequence that keep no positions apart.
// The others can be continued at any position, so a sequence can be at a mark.
type mark struct {
	at     int
	ask    bool     // before the last token of a prompt
	states []*State // nil where a state keeps positions apart
}

// toMark returns how many tokens a step may compute before a snapshot is due.
func (sl *slot) toMark() int {
	left := sl.left()
	if !sl.s.marking || sl.s.most == 0 || left == 1 {
		return left
	}
	n := sl.s.every - sl.done%sl.s.every
	if end := len(sl.st.req.Prompt) - 1; end > sl.done {
		n = min(n, end-sl.done) // the logits of the last token are needed by whoever sends the prompt again
	}
	return n
}

// mark takes a snapshot if one is due.
func (sl *slot) mark() {
	if !sl.s.marking || sl.s.most == 0 || sl.idle() {
		return
	}
	if sl.done%sl.s.every != 0 && sl.done != len(sl.st.req.Prompt)-1 || len(sl.marks) > 0 && sl.marks[len(sl.marks)-1].at >= sl.done {
		return
	}
	m := mark{at: sl.done, ask: sl.done == len(sl.st.req.Prompt)-1, states: make([]*State, len(sl.states))}
	for i, x := range sl.states {
		if p := sl.s.pools[i]; p.Persistent() && !p.ByPosition() {
			m.states[i], _ = x.Fork() // bound, and allowed in this lifecycle
		}
	}
	sl.marks = append(sl.marks, m)
	if len(sl.marks) > sl.s.most {
		sl.thin()
	}
}

// thin drops the mark whose loss costs the least: that with the shortest way from
// the mark before it, except the last one, and the last that a prompt asked for.
func (sl *slot) thin() {
	asked := -1
	for i, m := range sl.marks {
		if m.ask {
			asked = i
		}
	}
	drop, way, before := len(sl.marks)-1, -1, 0
	for i, m := range sl.marks[:len(sl.marks)-1] {
		if i != asked && (way < 0 || m.at-before < way) {
			drop, way = i, m.at-before
		}
		before = m.at
	}
	sl.marks[drop].release()
	sl.marks = append(sl.marks[:drop], sl.marks[drop+1:]...)
}

func (m *mark) release() {
	for _, x := range m.states {
		if x != nil {
			_ = x.Deinit()
		}
	}
}

// unmark drops the marks after the first n.
func (sl *slot) unmark(n int) {
	for i := n; i < len(sl.marks); i++ {
		sl.marks[i].release()
		sl.marks[i] = mark{}
	}
	sl.marks = sl.marks[:n]
}

// markAt returns the index of the last mark at or before a position, −1 if there
// is none.
func (sl *slot) markAt(at int) int {
	for i := len(sl.marks) - 1; i >= 0; i-- {
		if sl.marks[i].at <= at {
			return i
		}
	}
	return -1
}

// resumable returns the largest position, at most n, at which all states of the
// sequence can be continued; 0 if it has to be computed from the beginning.
func (sl *slot) resumable(n int) int {
	if sl.s.marking && n < sl.done {
		i := sl.markAt(n)
		if i < 0 {
			return 0
		}
		n = sl.marks[i].at
	}
	for i, x := range sl.states {
		p := sl.s.pools[i]
		if p.Persistent() && p.ByPosition() && !x.Resumable(n) { // behind a window
			return 0
		}
	}
	return n
}

// continueAt makes the slot's sequence the first at tokens of from, which is
// resumable there.
func (sl *slot) continueAt(from *slot, at int) error {
	snapshot := -1
	if sl.s.marking && at < from.done {
		snapshot = from.markAt(at)
	}
	next := make([]*State, len(sl.states)) // nil = the state stays
	for i, x := range from.states {
		p := sl.s.pools[i]
		switch {
		case !p.Persistent():
			continue
		case snapshot >= 0 && !p.ByPosition():
			x = from.marks[snapshot].states[i]
		case from == sl:
			continue
		}
		f, err := x.Fork()
		if err != nil {
			return err
		}
		next[i] = f
	}
	var marks []mark
	if from != sl {
		for i := range from.marks {
			if from.marks[i].at <= at {
				marks = append(marks, from.marks[i].copy())
			}
		}
		sl.unmark(0)
		sl.marks = marks
	} else {
		sl.unmark(sl.markAt(at) + 1)
	}
	for i, x := range next {
		if x != nil {
			_ = sl.states[i].Deinit()
			sl.states[i] = x
		}
		if sl.s.pools[i].Persistent() {
			if err := sl.states[i].Reuse(at); err != nil {
				return err
			}
		}
	}
	sl.done = at
	return nil
}

// copy returns a mark that shares the storage.
func (m *mark) copy() mark {
	c := mark{at: m.at, ask: m.ask, states: make([]*State, len(m.states))}
	for i, x := range m.states {
		if x != nil {
			c.states[i], _ = x.Fork()
		}
	}
	return c
}

// rewind continues a sequence whose states are of no token at its last mark, or
// from the beginning.
func (sl *slot) rewind() {
	sl.done++ // no mark is at the end: what is there is not what was marked
	at := sl.resumable(sl.done - 1)
	if at == 0 || sl.continueAt(sl, at) != nil {
		sl.clear()
	}
}
