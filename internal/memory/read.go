package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
)

// Bytes returns a copy of the tensor's bytes, wherever they are. A tensor that
// was restored lazily is materialized first.
func (m *Manager) Bytes(id string) ([]byte, error) {
	ctx := context.Background()
	r, err := m.lock(ctx, id, false)
	if err != nil {
		return nil, err
	}
	defer m.unlock(r)
	if err := m.materialize(ctx, r); err != nil {
		return nil, err
	}
	if st, ok := r.st.(inRAM); ok {
		return bytes.Clone(st.data), nil
	}
	return m.read(ctx, r)
}

// read returns the bytes of a tensor: the slice itself if they are in RAM, else
// a copy.
func (m *Manager) read(ctx context.Context, r *residence) (data []byte, err error) {
	switch st := r.st.(type) {
	case inRAM:
		return st.data, nil
	case onSSD:
		data, err = m.readFile(ctx, r.id, st.file)
	case inVRAM:
		data, err = m.download(ctx, r.id)
	default:
		return nil, &MoveError{Kind: errUnsupported, ID: r.id, Why: "no bytes: it was registered by its length alone"}
	}
	if err == nil {
		err = validLen(r, data)
	}
	return data, err
}

// A Lease pins a tensor's bytes. Until it is released the tensor can be neither
// moved nor replaced nor removed: such calls return [errLeased].
type Lease struct {
	Bytes   []byte // read-only, and invalid after Release
	release func()
}

// Release ends the lease. It may be called more than once.
func (l *Lease) Release() {
	if l.release != nil {
		l.release()
	}
	l.Bytes = nil
}

// Lease pins the tensor and returns its bytes: the slice itself if they are in
// RAM, else a copy that counts against RAM's budget until the release. It waits,
// as long as ctx allows, for moves of the tensor that are in progress.
func (m *Manager) Lease(ctx context.Context, id string) (Lease, error) {
	r, err := m.lock(ctx, id, false)
	if err != nil {
		return Lease{}, err
	}
	defer m.unlock(r)
	if err := m.materialize(ctx, r); err != nil {
		return Lease{}, err
	}
	var room *reservation
	if _, ok := r.st.(inRAM); !ok {
		if room, err = m.reserve(id, RAM, r.bytes); err != nil {
			return Lease{}, err
		}
	}
	data, err := m.read(ctx, r)
	if err != nil {
		room.cancel()
		return Lease{}, err
	}
	m.mu.Lock()
	r.leases++
	m.mu.Unlock()
	return Lease{data, sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		r.leases--
		room.release()
	})}, nil
}

// Place puts a tensor's bytes in tier t, or in the nearest tier that takes them;
// why says in one line why at differs from t. For CPU the bytes stay in RAM, and
// for VRAM too if there is no device or the upload fails. Unless they are
// uploaded or written, the manager keeps data: the caller must not change it.
func (m *Manager) Place(ctx context.Context, id string, data []byte, t Tier) (at Tier, why string, err error) {
	if t != VRAM {
		return t, "", m.registerData(ctx, id, data, t)
	}
	why = "VRAM unavailable; keeping the bytes in RAM"
	if m.adapter.Available() {
		err := m.register(ctx, id, uint64(len(data)), nil, func(r *residence) (state, *reservation, error) {
			return m.withReservation(id, VRAM, uint64(len(data)), func() (state, error) {
				st, err := m.upload(ctx, id, data)
				if err == nil && st == nil {
					err = noVRAM(id) // the device disappeared after the check above
				}
				return st, err
			})
		})
		if err == nil {
			return VRAM, "", nil
		}
		if !errors.Is(err, ErrBackendUnavailable) && !errors.Is(err, ErrBudget) {
			return 0, "", err
		}
		why = fmt.Sprintf("%v; keeping the bytes in RAM", err)
	}
	return RAM, why, m.registerData(ctx, id, data, RAM)
}
