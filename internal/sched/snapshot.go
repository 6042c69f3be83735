package sched

// A snapshot is a copy of those states of a sequence that keep no positions apart.
// The others can be continued at any position, so a sequence can be at a snapshot.
type snapshot struct {
	at     int
	ask    bool     // before the last token of a prompt
	states []*State // nil where a state keeps positions apart
}

// toSnapshot returns how many tokens a step may compute before a snapshot is due.
func (sl *slot) toSnapshot() int {
	left := sl.left()
	if !sl.s.storage.snapshots || sl.s.storage.maxSnapshots == 0 || left == 1 {
		return left
	}
	n := sl.s.storage.spacing - sl.done%sl.s.storage.spacing
	if end := len(sl.st.req.Prompt) - 1; end > sl.done {
		n = min(n, end-sl.done) // the logits of the last token are needed by whoever sends the prompt again
	}
	return n
}

// takeSnapshot takes a snapshot if one is due.
func (sl *slot) takeSnapshot() {
	if !sl.s.storage.snapshots || sl.s.storage.maxSnapshots == 0 || sl.idle() {
		return
	}
	if sl.done%sl.s.storage.spacing != 0 && sl.done != len(sl.st.req.Prompt)-1 || len(sl.snapshots) > 0 && sl.snapshots[len(sl.snapshots)-1].at >= sl.done {
		return
	}
	m := snapshot{at: sl.done, ask: sl.done == len(sl.st.req.Prompt)-1, states: make([]*State, len(sl.states))}
	for i, x := range sl.states {
		if p := sl.s.storage.pools[i]; p.Persistent() && !p.ByPosition() {
			m.states[i], _ = x.Fork() // bound, and allowed in this lifecycle
		}
	}
	sl.snapshots = append(sl.snapshots, m)
	if len(sl.snapshots) > sl.s.storage.maxSnapshots {
		sl.thinSnapshots()
	}
}

// thinSnapshots drops the snapshot whose loss costs the least: that with the shortest way
// from the snapshot before it, except the last one, and the last that a prompt asked for.
func (sl *slot) thinSnapshots() {
	asked := -1
	for i, m := range sl.snapshots {
		if m.ask {
			asked = i
		}
	}
	drop, way, before := len(sl.snapshots)-1, -1, 0
	for i, m := range sl.snapshots[:len(sl.snapshots)-1] {
		if i != asked && (way < 0 || m.at-before < way) {
			drop, way = i, m.at-before
		}
		before = m.at
	}
	sl.snapshots[drop].release()
	sl.snapshots = append(sl.snapshots[:drop], sl.snapshots[drop+1:]...)
}

func (m *snapshot) release() {
	for _, x := range m.states {
		if x != nil {
			_ = x.Deinit()
		}
	}
}

// dropSnapshots drops the snapshots after the first n.
func (sl *slot) dropSnapshots(n int) {
	for i := n; i < len(sl.snapshots); i++ {
		sl.snapshots[i].release()
		sl.snapshots[i] = snapshot{}
	}
	sl.snapshots = sl.snapshots[:n]
}

// snapshotAt returns the index of the last snapshot at or before a position, −1 if there
// is none.
func (sl *slot) snapshotAt(at int) int {
	for i := len(sl.snapshots) - 1; i >= 0; i-- {
		if sl.snapshots[i].at <= at {
			return i
		}
	}
	return -1
}

// resumable returns the largest position, at most n, at which all states of the
// sequence can be continued; 0 if it has to be computed from the beginning.
func (sl *slot) resumable(n int) int {
	if sl.s.storage.snapshots && n < sl.done {
		i := sl.snapshotAt(n)
		if i < 0 {
			return 0
		}
		n = sl.snapshots[i].at
	}
	for i, x := range sl.states {
		p := sl.s.storage.pools[i]
		if p.Persistent() && p.ByPosition() && !x.Resumable(n) { // behind a window
			return 0
		}
	}
	return n
}

// continueAt makes the slot's sequence the first at tokens of from, which is
// resumable there.
func (sl *slot) continueAt(from *slot, at int) error {
	last := -1
	if sl.s.storage.snapshots && at < from.done {
		last = from.snapshotAt(at)
	}
	next := make([]*State, len(sl.states)) // nil = the state stays
	for i, x := range from.states {
		p := sl.s.storage.pools[i]
		switch {
		case !p.Persistent():
			continue
		case last >= 0 && !p.ByPosition():
			x = from.snapshots[last].states[i]
		case from == sl:
			continue
		}
		f, err := x.Fork()
		if err != nil {
			return err
		}
		next[i] = f
	}
	var copies []snapshot
	if from != sl {
		for i := range from.snapshots {
			if from.snapshots[i].at <= at {
				copies = append(copies, from.snapshots[i].copy())
			}
		}
		sl.dropSnapshots(0)
		sl.snapshots = copies
	} else {
		sl.dropSnapshots(sl.snapshotAt(at) + 1)
	}
	for i, x := range next {
		if x != nil {
			_ = sl.states[i].Deinit()
			sl.states[i] = x
		}
		if sl.s.storage.pools[i].Persistent() {
			if err := sl.states[i].Reuse(at); err != nil {
				return err
			}
		}
	}
	sl.done = at
	return nil
}

// copy returns a snapshot that shares the storage.
func (m *snapshot) copy() snapshot {
	c := snapshot{at: m.at, ask: m.ask, states: make([]*State, len(m.states))}
	for i, x := range m.states {
		if x != nil {
			c.states[i], _ = x.Fork()
		}
	}
	return c
}

// rewind continues a sequence whose states are of no token at its last snapshot, or
// from the beginning.
func (sl *slot) rewind() {
	sl.done++ // no snapshot is at the end: what is there is not what was copied
	at := sl.resumable(sl.done - 1)
	if at == 0 || sl.continueAt(sl, at) != nil {
		sl.clear()
	}
}
