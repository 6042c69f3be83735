package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"atenia/internal/store/blob"
)

// LazyState returns the state of a tensor that was registered lazily; ok is
// false for all others.
func (m *Manager) LazyState(id string) (s LazyState, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil || r.lazy == nil {
		return 0, false
	}
	return r.lazy.state, true
}

// LazySource returns the cache entry from which a lazily registered tensor will
// be materialized; ok is false if the tensor has its bytes already or was not
// registered lazily.
func (m *Manager) LazySource(id string) (kind blob.Kind, key string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil || r.lazy == nil || r.lazy.state == Materialized {
		return 0, "", false
	}
	return r.lazy.kind, r.lazy.key, true
}

// EnsureMaterialized reads the bytes of a lazily restored tensor from the cache
// and puts them in its tier. It does nothing for a tensor that is not lazy or
// has its bytes already. Errors of the cache are returned unwrapped.
func (m *Manager) EnsureMaterialized(ctx context.Context, id string) error {
	if s, ok := m.LazyState(id); !ok || s == Materialized {
		return nil
	}
	r, err := m.lock(ctx, id, false)
	if err != nil {
		return err
	}
	defer m.unlock(r)
	return m.materialize(ctx, r)
}

// materialize reads the bytes of a lazy tensor that has none yet. The caller
// holds it.
func (m *Manager) materialize(ctx context.Context, r *residence) error {
	if r.lazy == nil || r.lazy.state == Materialized {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return &MoveError{Kind: ErrIO, ID: r.id, Why: "cancelled", Err: err}
	}
	if m.cache == nil {
		return notAttached(r.lazy.kind, r.lazy.key)
	}
	data, err := m.cache.Get(r.lazy.kind, r.lazy.key)
	if err != nil {
		return fmt.Errorf("%q: %w", r.id, err)
	}
	if err := validLen(r, data); err != nil {
		return err
	}
	st, room, err := m.store(ctx, r, data, r.lazy.at)
	if err != nil {
		return err
	}
	m.commit(r, st, room, func() { r.lazy.state = Materialized })
	return nil
}

// A Hint is the preferred tier of a tensor and a summary of its last plan. It
// survives the removal of the tensor.
type Hint struct {
	Desired    *Tier
	Summary    string
	HasSummary bool // an empty summary counts as one
}

// Hint returns the hint of a tensor.
func (m *Manager) Hint(id string) (Hint, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.hints[id]
	return h, ok
}

// SetHint replaces the hint of a tensor, registered or not.
func (m *Manager) SetHint(id string, h Hint) {
	if h.Desired != nil {
		d := *h.Desired
		h.Desired = &d
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hints[id] = h
}

var errNoGradient = errors.New("no gradient of that id was persisted")

//lint:ignore ST1005 the text is fixed
var errNotAttached = errors.New("Persistent cache not attached to HybridMemoryManager")

func notAttached(kind blob.Kind, key string) error {
	return &blob.CacheError{Reason: blob.ErrIO, Kind: kind, Key: key, Err: errNotAttached}
}

// PersistGradient writes a gradient to the persistent cache and records its key.
// The time is in seconds since 1970.
func (m *Manager) PersistGradient(ctx context.Context, id string, data []byte, created uint64, overwrite bool) error {
	if m.cache == nil {
		return notAttached(blob.Gradient, "grad:"+id)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	key := fmt.Sprintf("grad:%s:len%d", id, len(data))
	if err := m.cache.Put(blob.Gradient, key, data, created, overwrite); err != nil {
		return err
	}
	m.IndexGradient(id, key)
	return nil
}

// IndexGradient records the key of a gradient that is in the cache already.
func (m *Manager) IndexGradient(id, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gradients[id] = key
}

// RestoreGradient reads a gradient that was persisted or indexed.
func (m *Manager) RestoreGradient(id string) ([]byte, error) {
	if m.cache == nil {
		return nil, notAttached(blob.Gradient, "grad:"+id)
	}
	key, ok := m.GradientKey(id)
	if !ok {
		return nil, &blob.CacheError{Reason: blob.ErrNotFound, Kind: blob.Gradient, Key: "grad:" + id, Err: errNoGradient}
	}
	return m.cache.Get(blob.Gradient, key)
}

// GradientKey returns the key of a gradient in the persistent cache.
func (m *Manager) GradientKey(id string) (key string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, ok = m.gradients[id]
	return key, ok
}

// Gradients returns the ids of the gradients that have a key, sorted.
func (m *Manager) Gradients() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.gradients))
}
