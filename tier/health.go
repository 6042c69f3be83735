package tier

import (
	"cmp"
	"errors"
	"slices"
)

// A Fault is an error that stopped nothing.
type Fault struct {
	ID  string
	Err error
}

// Health is what went wrong without stopping anything.
type Health struct {
	PersistentErrors uint64  // persistent copies that could not be written
	Persistent       []Fault // the tensors without one, each with its last error, by id
	Leftovers        []Fault // files and handles that could not be freed yet, by id
}

// faults is what Health tells.
type faults struct {
	persistentErrors uint64
	persistent       map[string]error
	leftovers        []*leftover
}

// A leftover is a file or a handle without a tensor. Its bytes stay in the
// ledger until freeing it succeeds.
type leftover struct {
	id  string
	st  state
	err error
}

// persisted notes how writing a persistent copy went.
func (m *Manager) persisted(id string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.faults.persistent, id)
		return
	}
	m.faults.persistentErrors++
	if m.faults.persistent == nil {
		m.faults.persistent = map[string]error{}
	}
	m.faults.persistent[id] = err
}

// Health returns what went wrong so far.
func (m *Manager) Health() Health {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := Health{PersistentErrors: m.faults.persistentErrors}
	for id, err := range m.faults.persistent {
		h.Persistent = append(h.Persistent, Fault{id, err})
	}
	for _, l := range m.faults.leftovers {
		h.Leftovers = append(h.Leftovers, Fault{l.id, l.err})
	}
	byID := func(a, b Fault) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(h.Persistent, byID)
	slices.SortStableFunc(h.Leftovers, byID)
	return h
}

// discard frees the file or the handle of a state that is no more. What cannot
// be freed is kept as a leftover and tried again when room is next asked for.
// The caller holds the tensor.
func (m *Manager) discard(id string, st state) {
	err := m.free(id, st)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.faults.leftovers = append(m.faults.leftovers, &leftover{id, st, err})
		return
	}
	m.ledger.sub(st)
}

func (m *Manager) free(id string, st state) error {
	switch st := st.(type) {
	case onSSD:
		return m.files.Delete(st.file.path)
	case inVRAM:
		return m.adapter.Free(id)
	}
	return nil
}

// sweep tries the leftovers again. The caller holds the tensor mine. Leftovers
// of another one are freed while it is held, too, so that nobody writes in
// their place meanwhile; those of one that is busy wait.
func (m *Manager) sweep(mine string) {
	m.mu.Lock()
	left := slices.Clone(m.faults.leftovers)
	m.mu.Unlock()
	for _, l := range left {
		r, ok := m.claim(l, mine)
		if !ok {
			continue
		}
		m.discard(l.id, l.st)
		if r != nil {
			m.let(r)
		}
	}
}

// claim takes a leftover off the list and holds its tensor, unless that is
// mine, which is held already.
func (m *Manager) claim(l *leftover, mine string) (r *residence, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.faults.leftovers, l)
	if i < 0 {
		return nil, false // somebody else was faster
	}
	if l.id != mine {
		if r = m.tensors[l.id]; r == nil {
			r = newResidence(l.id)
			m.tensors[l.id] = r
		}
		select {
		case r.busy <- struct{}{}:
		default:
			return nil, false
		}
	}
	m.faults.leftovers = slices.Delete(m.faults.leftovers, i, i+1)
	return r, true
}

// replaced forgets a leftover whose file or handle a new one has overwritten.
// What counts is what held the bytes: the tier of a file may have been CPU.
func (m *Manager) replaced(b Backing, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults.leftovers = slices.DeleteFunc(m.faults.leftovers, func(l *leftover) bool {
		gone := l.id == id && l.st.backing() == b
		if gone {
			m.ledger.sub(l.st)
		}
		return gone
	})
}

// isKind reports whether an error has one of the kinds of moves.
func isKind(err error) bool {
	for _, k := range []error{ErrUnsupported, ErrIO, ErrBackendUnavailable, ErrBudget} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}
