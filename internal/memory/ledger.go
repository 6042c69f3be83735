package memory

import (
	"errors"
	"fmt"
	"math"

	"atenia/internal/machine/ledger"
)

// ErrBudget is the kind of a move for which a tier has no room.
var ErrBudget = errors.New("over budget")

// A budgetError says how much room a move needed and how much its tier had. It
// matches [ErrBudget].
type budgetError struct {
	Tier                       Tier
	Needed, Free, Budget, Held uint64 // bytes; Held is used plus reserved
}

func (e *budgetError) Error() string {
	return fmt.Sprintf("%v needs %d bytes and has %d free of %d: raise the budget or move something out of it", e.Tier, e.Needed, e.Free, e.Budget)
}

// Is reports whether target is [ErrBudget].
func (e *budgetError) Is(target error) bool { return target == ErrBudget }

// An Account is the bytes of one tier.
type Account struct {
	Total    uint64 `json:"total"`    // the budget; the largest uint64 if there is none
	Used     uint64 `json:"used"`     // by tensors and by leftovers that could not be freed yet
	Reserved uint64 `json:"reserved"` // by moves in progress and by leases of copies
}

// Free returns the bytes that can still be reserved.
func (a Account) Free() uint64 {
	held := a.Used + a.Reserved
	if held < a.Used || held > a.Total {
		return 0
	}
	return a.Total - held
}

// A Ledger counts the bytes that a manager holds in each tier. Tensors without
// backing do not count.
type Ledger struct {
	VRAM Account `json:"vram"`
	RAM  Account `json:"ram"`
	SSD  Account `json:"ssd"`
}

func newLedger(budget map[Tier]uint64) Ledger {
	var l Ledger
	for _, t := range [...]Tier{VRAM, RAM, SSD} {
		total, ok := budget[t]
		if !ok {
			total = math.MaxUint64
		}
		l.account(t).Total = total
	}
	return l
}

func (l *Ledger) account(t Tier) *Account {
	switch t {
	case VRAM:
		return &l.VRAM
	case SSD:
		return &l.SSD
	}
	return &l.RAM // the bytes of CPU tensors are in RAM
}

// reserve sets n bytes of a tier aside, or returns a [budgetError].
func (l *Ledger) reserve(t Tier, n uint64) error {
	a := l.account(t)
	if n > a.Free() {
		return &budgetError{t, n, a.Free(), a.Total, a.Used + a.Reserved}
	}
	a.Reserved += n
	return nil
}

// A reservation is room set aside for a move, until it is released.
type reservation struct {
	m    *Manager
	tier Tier
	n    uint64
}

// reserve sets room aside before any byte is copied. The caller holds the
// tensor.
func (m *Manager) reserve(id string, t Tier, n uint64) (*reservation, error) {
	m.sweep(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.ledger.reserve(t, n)
	if err == nil && t != SSD && t != VRAM {
		if err = m.grow(); err != nil {
			m.ledger.account(t).Reserved -= n
		}
	}
	if err != nil {
		return nil, &MoveError{Kind: ErrBudget, ID: id, Why: "no room", Err: err}
	}
	return &reservation{m, t, n}, nil
}

// grow reserves in the account what the manager holds in RAM. The caller holds
// the mutex.
func (m *Manager) grow() error {
	n := int64(min(m.ledger.RAM.Used+m.ledger.RAM.Reserved, math.MaxInt64))
	if m.account == nil {
		return nil
	}
	if m.room.Bytes() > 0 || n == 0 {
		return m.room.Resize(n)
	}
	var err error
	m.room, err = m.account.Reserve(ledger.Tensors, n)
	return err
}

// settle gives back to the account what is held no longer. The caller holds the
// mutex.
func (m *Manager) settle() {
	if m.room.Bytes() > 0 {
		_ = m.grow() // holding less does not fail
	}
}

// release ends the reservation. The caller holds the mutex.
func (r *reservation) release() {
	if r != nil {
		r.m.ledger.account(r.tier).Reserved -= r.n
		r.n = 0
	}
}

// cancel gives the room back.
func (r *reservation) cancel() {
	if r != nil {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.release()
		r.m.settle()
	}
}

// held returns the bytes that a state holds and the tier whose budget they count
// against.
func held(st state) (Tier, uint64) {
	switch st := st.(type) {
	case inRAM:
		return RAM, uint64(len(st.data))
	case onSSD:
		return SSD, st.file.size
	case inVRAM:
		return VRAM, st.bytes
	}
	return RAM, 0
}

func (l *Ledger) add(st state) {
	t, n := held(st)
	l.account(t).Used += n
}

func (l *Ledger) sub(st state) {
	t, n := held(st)
	l.account(t).Used -= n
}

// Ledger returns the bytes held in each tier.
func (m *Manager) Ledger() Ledger {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger
}
