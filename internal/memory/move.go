package memory

// Moves: PlanMove says what would happen, ApplyMove does it. A plan is for one
// state of one tensor and is refused once that state has changed.

import (
	"context"
	"fmt"

	"atenia/internal/store/blob"
)

// A PlannedMove is a possible move of one tensor, made by [Manager.PlanMove].
type PlannedMove struct {
	From, To Tier
	Reason   string // one line
	gen      uint64 // of the state that the plan is for
}

// PlanMove plans the move of a tensor to a tier. The plan may degrade the
// target: without a device, a tensor meant for VRAM stays in RAM, and To says
// so.
func (m *Manager) PlanMove(id string, to Tier) (PlannedMove, error) {
	m.mu.Lock()
	r := m.find(id)
	if r == nil {
		m.mu.Unlock()
		return PlannedMove{}, unknown(id)
	}
	p := PlannedMove{From: r.st.tier(), To: to, gen: r.gen}
	_, elsewhere := r.st.(owned)
	empty := r.st == logical{RAM} && (r.lazy == nil || r.lazy.state == Materialized)
	m.mu.Unlock()
	switch {
	case p.From == to:
		p.Reason = "Already in target tier"
	case to == SSD && empty:
		return PlannedMove{}, &MoveError{Kind: errUnsupported, ID: id, Why: "Cannot move tensor to SSD without backing data"}
	case to == VRAM && !m.adapter.Available():
		p.To, p.Reason = RAM, "VRAM unavailable; degrading placement to RAM"
	default:
		if to == SSD && !elsewhere {
			if err := m.ensureDir(id); err != nil {
				return PlannedMove{}, err
			}
		}
		p.Reason = fmt.Sprintf("Moving from %v to %v", p.From, to)
	}
	return p, nil
}

// ApplyMove carries out a plan. It does nothing if the tensor is in that tier
// already or the device has disappeared since: ask [Manager.Tier] for the
// result. A move that fails leaves the tensor where it was. A move over the
// tier's budget is refused before any byte is read; a plan for a tensor that was
// registered or moved since, with [ErrStale]; a leased tensor, with [errLeased].
func (m *Manager) ApplyMove(ctx context.Context, id string, p PlannedMove) error {
	r, err := m.lock(ctx, id, false)
	if err != nil {
		return err
	}
	defer m.unlock(r)
	if r.st.tier() == p.To {
		return nil
	}
	if r.gen != p.gen {
		return &MoveError{Kind: ErrStale, ID: id, Why: "stale plan: the tensor changed since; plan again"}
	}
	if err := m.unleased(r); err != nil {
		return err
	}
	if err := m.materialize(ctx, r); err != nil {
		return err
	}
	if r.st.tier() == p.To {
		return nil // it was materialized there
	}
	st, room, err := m.shift(ctx, r, p.To)
	if err != nil || st == nil {
		return err
	}
	m.commit(r, st, room, nil)
	return nil
}

// Move plans a move and applies it. It returns the plan that was applied, whose
// To may differ from the tier asked for.
func (m *Manager) Move(ctx context.Context, id string, to Tier) (PlannedMove, error) {
	p, err := m.PlanMove(id, to)
	if err != nil {
		return PlannedMove{}, err
	}
	return p, m.ApplyMove(ctx, id, p)
}

// shift makes the tensor's state in another tier, with a reservation for it; a
// nil state means that the tensor stays as it is. The caller holds the tensor.
func (m *Manager) shift(ctx context.Context, r *residence, to Tier) (state, *reservation, error) {
	switch st := r.st.(type) {
	case inRAM:
		if to == RAM || to == CPU {
			return inRAM{st.data, to == CPU}, nil, nil
		}
		return m.withReservation(r.id, to, uint64(len(st.data)), func() (state, error) { return m.put(ctx, r, st.data, to) })
	case onSSD:
		switch {
		case to == SSD || to == CPU:
			return onSSD{st.file, to == CPU}, nil, nil
		case to == VRAM && !m.adapter.Available():
			return nil, nil, nil
		}
		return m.fetch(ctx, r, to)
	case inVRAM:
		return m.fetch(ctx, r, to)
	case owned:
		if to != RAM && to != SSD {
			return nil, nil, &MoveError{Kind: errUnsupported, ID: r.id, Why: "its owner keeps it in Ram or on Ssd, not in " + to.String()}
		}
		if err := st.owner.MoveOwned(ctx, r.id, st.at, to); err != nil {
			return nil, nil, &MoveError{Kind: errIO, ID: r.id, Why: "its owner did not move it", Err: err}
		}
		return owned{to, st.owner}, nil, nil
	}
	return logical{to}, nil, nil
}

// withReservation reserves room and makes a state that needs it. If that fails, it
// cancels the reservation.
func (m *Manager) withReservation(id string, t Tier, n uint64, make func() (state, error)) (state, *reservation, error) {
	room, err := m.reserve(id, t, n)
	if err != nil {
		return nil, nil, err
	}
	st, err := make()
	if err != nil || st == nil {
		room.cancel()
		return nil, nil, err
	}
	return st, room, nil
}

// fetch brings bytes from SSD or VRAM to another tier through RAM. The staging
// copy counts against RAM's budget, and all room is reserved before the first
// byte is read.
func (m *Manager) fetch(ctx context.Context, r *residence, to Tier) (state, *reservation, error) {
	load := func() (state, error) {
		data, err := m.read(ctx, r)
		if err != nil {
			return nil, err
		}
		return m.put(ctx, r, data, to)
	}
	if to == RAM || to == CPU {
		return m.withReservation(r.id, RAM, r.bytes, load)
	}
	way, err := m.reserve(r.id, RAM, r.bytes)
	if err != nil {
		return nil, nil, err
	}
	defer way.cancel()
	return m.withReservation(r.id, to, r.bytes, load)
}

// put makes the state of bytes in a tier; nil for VRAM without a device. The
// caller has reserved the room.
func (m *Manager) put(ctx context.Context, r *residence, data []byte, to Tier) (state, error) {
	switch to {
	case SSD:
		st, err := m.write(ctx, r.id, data, blob.None)
		if err == nil && m.cache != nil {
			m.keep(r, st.file, data)
		}
		return st, err
	case VRAM:
		return m.upload(ctx, r.id, data)
	}
	return inRAM{data, to == CPU}, nil
}

func validLen(r *residence, data []byte) error {
	if uint64(len(data)) == r.bytes {
		return nil
	}
	return &MoveError{Kind: errUnsupported, ID: r.id, Why: fmt.Sprintf("Byte length mismatch: got %d bytes, want %d", len(data), r.bytes)}
}

// transfer waits for a free slot and runs one transfer of bytes.
func (m *Manager) transfer(ctx context.Context, id string, do func() error) error {
	err := ctx.Err()
	if err == nil {
		select {
		case m.slots <- struct{}{}:
			defer func() { <-m.slots }()
			return do()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return &MoveError{Kind: errIO, ID: id, Why: "cancelled", Err: err}
}

// upload makes the state of a tensor in VRAM; nil without a device.
func (m *Manager) upload(ctx context.Context, id string, data []byte) (st state, err error) {
	err = m.transfer(ctx, id, func() error {
		if !m.adapter.Available() {
			return nil
		}
		if err := m.adapter.Upload(id, data); err != nil {
			return deviceError(id, "upload", err)
		}
		m.replaced(BackingVRAMHandle, id)
		st = inVRAM{uint64(len(data))}
		return nil
	})
	return st, err
}

func (m *Manager) download(ctx context.Context, id string) (data []byte, err error) {
	err = m.transfer(ctx, id, func() error {
		if !m.adapter.Available() {
			return &MoveError{Kind: ErrBackendUnavailable, ID: id, Why: "VRAM not available for download"}
		}
		if data, err = m.adapter.Download(id); err != nil {
			return deviceError(id, "download", err)
		}
		return nil
	})
	return data, err
}

// deviceError wraps an adapter's error in a [MoveError], with a kind if it has
// none.
func deviceError(id, what string, err error) error {
	if isKind(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &MoveError{Kind: ErrBackendUnavailable, ID: id, Why: what, Err: err}
}

// store makes the state of new bytes in RAM, which also serves CPU, or on SSD,
// with room for it. The bytes that the tensor holds in RAM now are about to be
// freed and count as room.
func (m *Manager) store(ctx context.Context, r *residence, data []byte, t Tier) (state, *reservation, error) {
	n := uint64(len(data))
	if t == SSD {
		return m.withReservation(r.id, SSD, n, func() (state, error) { return m.write(ctx, r.id, data, blob.None) })
	}
	if old, ok := r.st.(inRAM); ok {
		n -= min(n, uint64(len(old.data)))
	}
	return m.withReservation(r.id, RAM, n, func() (state, error) { return inRAM{data, t == CPU}, nil })
}
