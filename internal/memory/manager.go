package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"atenia/internal/machine/ledger"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// A Config configures a [Manager]. Its zero value keeps tensors in RAM without
// limit and refuses the other tiers.
type Config struct {
	Dir     string          // directory of SSD files, used by this manager alone; created when needed
	Adapter Adapter         // nil: no device
	Cache   *blob.Cache     // persistent copies and gradients; nil: none
	Budget  map[Tier]uint64 // bytes; a tier without an entry has no limit
	Account *ledger.Account // that bytes in RAM are reserved in, beside the budget; nil: none
	FS      durable.FS      // nil: the operating system's
	// Transfers limits how many tensors are read, written or copied at once; zero
	// means eight.
	Transfers int
	// Alloc returns memory for the n bytes of a tensor that comes from SSD; nil is
	// Go's heap.
	Alloc func(n int) []byte
}

// A Manager keeps tensors: the tier of each one and what holds its bytes. It is
// safe for concurrent use: calls for one tensor wait for each other, calls for
// different tensors do not.
type Manager struct {
	files   *blob.Store // of SSD tensors
	adapter Adapter
	cache   *blob.Cache
	fs      durable.FS
	slots   chan struct{} // one token for each transfer in progress

	mu        sync.Mutex // guards all below; never held while bytes are copied
	tensors   map[string]*residence
	ledger    Ledger
	account   *ledger.Account
	room      ledger.Reservation // of the bytes in RAM, in the account
	gen       uint64             // last generation given to a state
	version   uint64             // last version given to a content
	hints     map[string]Hint
	gradients map[string]string // id → key in the cache
	faults    faults
}

// New returns a manager without tensors.
func New(c Config) *Manager {
	if c.Adapter == nil {
		c.Adapter = NoVRAM{}
	}
	if c.Transfers <= 0 {
		c.Transfers = 8
	}
	m := &Manager{
		files: blob.NewStore(c.Dir, c.FS), adapter: c.Adapter, cache: c.Cache, fs: durable.Default(c.FS), slots: make(chan struct{}, c.Transfers),
		account: c.Account, tensors: map[string]*residence{}, ledger: newLedger(c.Budget), hints: map[string]Hint{}, gradients: map[string]string{},
	}
	m.files.Alloc = c.Alloc
	return m
}

// Cache returns the persistent cache; nil if none is attached.
func (m *Manager) Cache() *blob.Cache { return m.cache }

// Attach attaches the persistent cache of a manager that was made without one.
// It must not be called while tensors move.
func (m *Manager) Attach(c *blob.Cache) { m.cache = c }

// Available reports whether there is a device to move to.
func (m *Manager) Available() bool { return m.adapter.Available() }

// The refusals that depend on what other callers do, for [errors.Is].
var (
	ErrStale  = errors.New("stale plan") // the tensor changed after it was planned
	errLeased = errors.New("leased")     // a caller holds a lease on the bytes
)

// checkID refuses ids that the checkpoint formats cannot encode.
func checkID(id string) error {
	if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return &MoveError{Kind: errUnsupported, ID: id, Why: "an id is UTF-8 text without control characters"}
	}
	return nil
}

func unknown(id string) error {
	return &MoveError{Kind: errUnsupported, ID: id, Why: "Tensor not registered"}
}

// find returns a registered tensor or nil. The caller holds the mutex.
func (m *Manager) find(id string) *residence {
	if r := m.tensors[id]; r != nil && r.st != nil {
		return r
	}
	return nil
}

// lock waits until the tensor is free and locks it; unlock releases it. With create,
// an unknown tensor is added with a nil state.
func (m *Manager) lock(ctx context.Context, id string, create bool) (*residence, error) {
	for {
		m.mu.Lock()
		r := m.tensors[id]
		if r == nil && create {
			r = newResidence(id)
			m.tensors[id] = r
		}
		m.mu.Unlock()
		if r == nil {
			return nil, unknown(id)
		}
		select {
		case r.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, &MoveError{Kind: errIO, ID: id, Why: "cancelled", Err: ctx.Err()}
		}
		m.mu.Lock()
		current := m.tensors[id] == r && (create || r.st != nil)
		m.mu.Unlock()
		if current {
			return r, nil
		}
		<-r.busy // removed while this call waited
	}
}

// unlock unlocks a tensor and drops it if it was never registered.
func (m *Manager) unlock(r *residence) {
	m.mu.Lock()
	if r.st == nil {
		delete(m.tensors, r.id)
	}
	m.mu.Unlock()
	<-r.busy
}

// commit gives the tensor a new state and frees what held its bytes before. The
// caller holds the tensor; also, if not nil, runs under the mutex. room is the
// reservation for the new state.
func (m *Manager) commit(r *residence, st state, room *reservation, also func()) {
	m.mu.Lock()
	old := r.st
	room.release()
	m.ledger.add(st)
	m.gen++
	r.st, r.gen = st, m.gen
	if also != nil {
		also()
	}
	left := old != nil && !inPlace(old, st)
	if _, ram := old.(inRAM); ram || !left {
		m.ledger.sub(old)
		left = false
	}
	m.settle()
	m.mu.Unlock()
	if left {
		m.discard(r.id, old)
	}
}

// inPlace reports whether a state overwrote the old one's file or handle, so
// that nothing is left to free.
func inPlace(old, st state) bool {
	if st == nil || st.backing() != old.backing() {
		return false
	}
	a, file := old.(onSSD)
	return !file || a.file.path == st.(onSSD).file.path
}

// Register adds a tensor by its length alone, or replaces it. Such a tensor has
// no bytes; its moves change the tier and nothing else.
func (m *Manager) Register(id string, bytes uint64, t Tier) error {
	return m.register(context.Background(), id, bytes, nil, func(*residence) (state, *reservation, error) { return logical{t}, nil, nil })
}

// RegisterData adds a tensor with its bytes, or replaces it. The manager keeps
// data: the caller must not change it. Only RAM and SSD keep bytes here; for the
// other tiers they are dropped and warning says so. Use [Manager.Place] for
// those.
func (m *Manager) RegisterData(id string, data []byte, t Tier) (warning string, err error) {
	if t != RAM && t != SSD {
		return "bytes of " + t.String() + " tensors are not kept: place them instead", m.Register(id, uint64(len(data)), t)
	}
	return "", m.registerData(context.Background(), id, data, t)
}

func (m *Manager) registerData(ctx context.Context, id string, data []byte, t Tier) error {
	return m.register(ctx, id, uint64(len(data)), nil, func(r *residence) (state, *reservation, error) { return m.store(ctx, r, data, t) })
}

// RegisterLazy adds a tensor by its length and by the entry of the persistent
// cache that holds its bytes. They are read on first use and go to tier t.
// Registering the id again cancels that.
func (m *Manager) RegisterLazy(id string, n uint64, t Tier, kind blob.Kind, key string) error {
	return m.register(context.Background(), id, n, &lazySource{kind: kind, key: key, at: t},
		func(*residence) (state, *reservation, error) { return logical{t}, nil, nil })
}

// register replaces the state of id by the one that build returns.
func (m *Manager) register(ctx context.Context, id string, n uint64, lazy *lazySource, build func(*residence) (state, *reservation, error)) error {
	if err := checkID(id); err != nil {
		return err
	}
	r, err := m.lock(ctx, id, true)
	if err != nil {
		return err
	}
	defer m.unlock(r)
	if err := m.unleased(r); err != nil {
		return err
	}
	st, room, err := build(r)
	if err != nil {
		return err
	}
	m.commit(r, st, room, func() {
		m.version++
		r.bytes, r.version, r.lazy = n, m.version, lazy
	})
	return nil
}

// unleased refuses a leased tensor.
func (m *Manager) unleased(r *residence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.leases > 0 {
		return &MoveError{Kind: errLeased, ID: r.id, Why: "its bytes are in use"}
	}
	return nil
}

// Remove forgets a tensor and frees its bytes. Its hint and its gradient stay.
func (m *Manager) Remove(id string) error {
	r, err := m.lock(context.Background(), id, false)
	if err != nil {
		return err
	}
	defer m.unlock(r)
	if err := m.unleased(r); err != nil {
		return err
	}
	m.commit(r, nil, nil, nil) // unlock drops it from the list
	return nil
}

// Tier returns the tier of a tensor.
func (m *Manager) Tier(id string) (Tier, bool) {
	r, ok := m.Residence(id)
	return r.Tier, ok
}

// Len returns the length that a tensor was registered with, in bytes.
func (m *Manager) Len(id string) (uint64, bool) {
	r, ok := m.Residence(id)
	return r.Bytes, ok
}

// Residence describes where a tensor is and what holds its bytes.
func (m *Manager) Residence(id string) (Residence, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil {
		return Residence{}, false
	}
	out := Residence{Tier: r.st.tier(), Backing: r.st.backing(), Bytes: r.bytes, Version: r.version, Leases: r.leases}
	if st, ok := r.st.(onSSD); ok {
		out.Hash = st.file.meta.Hash
	}
	return out, true
}

// IDs returns the ids of all tensors, sorted by their bytes.
func (m *Manager) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]string, 0, len(m.tensors))
	for _, id := range slices.Sorted(maps.Keys(m.tensors)) {
		if m.find(id) != nil {
			ids = append(ids, id)
		}
	}
	return ids
}
