package sched

import (
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/kv"
	"atenia/internal/plan"
)

// A StatePool is the storage of one state of a model. A pool and its states must be
// used by one goroutine at a time.
type StatePool struct {
	d     plan.StateDescriptor
	cache *kv.Cache
}

// StateStorage is how the pages of a state are stored: [kv.New] takes it.
func StateStorage(d *plan.StateDescriptor, account *ledger.Account) kv.Config {
	zero, _ := d.ZeroOn(plan.ActAlloc) // allowed in every lifecycle
	return kv.Config{
		PageTokens: int(d.PageTokens), PageBytes: int(d.SizeBytes), Fixed: d.PageTokens == 0,
		Window: int(d.Window), Zero: zero, Account: account,
	}
}

// NewStatePool returns an empty pool for a state, with storage like that of [StateStorage]
// within a budget.
func NewStatePool(d plan.StateDescriptor, c kv.Config) (*StatePool, error) {
	cache, err := kv.New(c)
	if err != nil {
		return nil, err
	}
	return &StatePool{d: d, cache: cache}, nil
}

// Cache returns the pages.
func (p *StatePool) Cache() *kv.Cache { return p.cache }

// Descriptor returns what the pool stores.
func (p *StatePool) Descriptor() *plan.StateDescriptor { return &p.d }

// ByPosition reports whether a state keeps positions apart, so that it can be
// continued at earlier ones.
func (p *StatePool) ByPosition() bool { return p.d.PageTokens != 0 }

// Persistent reports whether a state outlives its request.
func (p *StatePool) Persistent() bool { return p.d.Lifecycle == plan.SlotPersistent }

// Close frees the storage.
func (p *StatePool) Close() { p.cache.Close() }
