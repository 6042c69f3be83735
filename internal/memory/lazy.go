package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync/atomic"

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
	if r == nil || r.lazy == nil || r.lazy.from != nil || r.lazy.state == Materialized {
		return 0, "", false
	}
	return r.lazy.kind, r.lazy.key, true
}

// LazyFile returns the span of a file that a lazily registered tensor is
// materialized from, also once it has been; ok is false if there is none.
func (m *Manager) LazyFile(id string) (s Source, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil || r.lazy == nil || r.lazy.from == nil {
		return Source{}, false
	}
	return *r.lazy.from, true
}

// RegisterLazyFile adds a tensor by its length and by the span of a file that
// holds its bytes. They are read on first use and go to tier t.
func (m *Manager) RegisterLazyFile(id string, n uint64, t Tier, s Source) error {
	if s.View != nil && uint64(len(s.View)) != n || s.Offset < 0 || n > math.MaxInt64 {
		return &MoveError{Kind: errUnsupported, ID: id, Why: fmt.Sprintf("%d bytes at %d are not a span of %s", n, s.Offset, s.Path)}
	}
	return m.register(context.Background(), id, n, &lazySource{at: t, from: &s},
		func(*residence) (state, *reservation, error) { return logical{t}, nil, nil })
}

// readSource returns the bytes of a span: those that are mapped, after they
// were brought into memory, or a copy.
func (m *Manager) readSource(ctx context.Context, r *residence) (data []byte, err error) {
	s := r.lazy.from
	err = m.transfer(ctx, r.id, func() error {
		if s.View != nil {
			data = s.View
			return touch(ctx, data)
		}
		f, err := m.fs.OpenFile(s.Path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		st, err := f.Stat()
		if end := s.Offset + int64(r.bytes); err == nil && (end < 0 || st.Size() < end) { // before memory is allocated for it
			err = fmt.Errorf("%s has %d bytes, the tensor ends at %d: %w: the file was cut", s.Path, st.Size(), end, io.ErrUnexpectedEOF)
		}
		if err == nil {
			data = make([]byte, r.bytes)
			_, err = f.ReadAt(data, s.Offset)
		}
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return nil, &MoveError{Kind: errIO, ID: r.id, Why: "reading it from its file", Err: err}
	}
	return data, nil
}

// touched is what keeps the compiler from leaving out the reads of touch.
var touched atomic.Uint32

// touch reads one byte of every page.
func touch(ctx context.Context, data []byte) error {
	const page, block = 4096, 1 << 20
	for part := range slices.Chunk(data, block) {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum := byte(0)
		for i := 0; i < len(part); i += page {
			sum += part[i]
		}
		touched.Store(uint32(sum))
	}
	return nil
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
		return &MoveError{Kind: errIO, ID: r.id, Why: "cancelled", Err: err}
	}
	data, err := m.readLazy(ctx, r)
	if err != nil {
		return err
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

// readLazy reads the bytes of a lazy tensor from where they are.
func (m *Manager) readLazy(ctx context.Context, r *residence) ([]byte, error) {
	if r.lazy.from != nil {
		return m.readSource(ctx, r)
	}
	if m.cache == nil {
		return nil, notAttached(r.lazy.kind, r.lazy.key)
	}
	data, err := m.cache.Get(r.lazy.kind, r.lazy.key)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", r.id, err)
	}
	return data, nil
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
