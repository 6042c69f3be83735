package memory

import (
	"cmp"
	"errors"
	"slices"
)

// A Fault is an error that did not fail the call during which it happened.
type Fault struct {
	ID  string
	Err error
}

// Health lists the background failures of a [Manager]: those that failed no call
// but leave a copy missing or bytes unfreed.
type Health struct {
	PersistentErrors uint64  // persistent copies that could not be written
	Persistent       []Fault // tensors without a persistent copy, each with its last error, by id
	Leftovers        []Fault // files and handles that could not be freed yet, by id
}

// faults collects what [Manager.Health] reports.
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

// recordPersist records the outcome of writing a persistent copy.
func (m *Manager) recordPersist(id string, err error) {
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

// Health returns the background failures so far.
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

// discard frees the file or the handle of a replaced state. If that fails, it
// becomes a leftover and freeing is retried when room is next requested. The
// caller holds the tensor.
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

// sweep retries freeing the leftovers. The caller holds the tensor mine. A
// leftover of another tensor is freed while that tensor is held, so that no new
// file takes its place meanwhile; leftovers of busy tensors wait.
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
			m.unlock(r)
		}
	}
}

// claim takes a leftover off the list and holds its tensor, unless that is mine,
// which the caller holds already.
func (m *Manager) claim(l *leftover, mine string) (r *residence, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.faults.leftovers, l)
	if i < 0 {
		return nil, false // another goroutine took it first
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

// replaced forgets a leftover whose file or handle a new one has overwritten. It
// compares the backing, not the tier: a file may belong to a tensor of tier CPU.
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
	for _, k := range []error{errUnsupported, errIO, ErrBackendUnavailable, ErrBudget} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}
