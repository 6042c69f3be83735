package memory

import "context"

// An Owner holds the bytes of tensors that a manager keeps no bytes of: the
// manager decides and keeps account, the owner moves. It must be safe for
// concurrent use.
type Owner interface {
	// MoveOwned brings a tensor to another tier, RAM or SSD. If it fails, the
	// tensor is where it was.
	MoveOwned(ctx context.Context, id string, from, to Tier) error
	// Lends reports whether a tensor on SSD is in RAM whenever it is used, and
	// only then, so that a kernel that needs it moves nothing.
	Lends(id string) bool
}

// An owned tensor counts in no budget of the manager: its owner reserves what it
// holds.
type owned struct {
	at    Tier
	owner Owner
}

func (s owned) tier() Tier     { return s.at }
func (owned) backing() Backing { return BackingOwner }

// RegisterOwned adds a tensor whose bytes are with an owner, or replaces it.
func (m *Manager) RegisterOwned(id string, bytes uint64, t Tier, o Owner) error {
	if t != RAM && t != SSD {
		return &MoveError{Kind: errUnsupported, ID: id, Why: "owners keep tensors in Ram or on Ssd, not in " + t.String()}
	}
	return m.register(context.Background(), id, bytes, nil, func(*residence) (state, *reservation, error) { return owned{t, o}, nil, nil })
}

// Lent reports whether a tensor stays where it is when a kernel needs it in a
// tier: its owner puts it there for as long as the kernel runs.
func (m *Manager) Lent(id string, in Tier) bool {
	m.mu.Lock()
	var st owned
	r := m.find(id)
	if r != nil {
		st, _ = r.st.(owned)
	}
	m.mu.Unlock()
	return st.owner != nil && st.at == SSD && in == RAM && st.owner.Lends(id)
}
