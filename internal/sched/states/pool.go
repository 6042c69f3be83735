package states

import (
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/kv"
	"atenia/internal/plan"
)

// A Pool is the storage of one state of a model. A pool and its states must be
// used by one goroutine at a time.
type Pool struct {
	d     plan.StateDescriptor
	cache *kv.Cache
}

// Storage is how the pages of a state are stored: [kv.New] takes it.
func Storage(d *plan.StateDescriptor, account *ledger.Account) kv.Config {
	zero, _ := d.ZeroOn(plan.ActAlloc) // allowed in every lifecycle
	return kv.Config{
		PageTokens: int(d.PageTokens), PageBytes: int(d.SizeBytes), Fixed: d.PageTokens == 0,
		Window: int(d.Window), Zero: zero, Account: account,
	}
}

// New returns an empty pool for a state, with storage like that of [Storage]
// within a budget.
func New(d plan.StateDescriptor, c kv.Config) (*Pool, error) {
	cache, err := kv.New(c)
	if err != nil {
		return nil, err
	}
	return &Pool{d: d, cache: cache}, nil
}

// Cache returns the pages.
func (p *Pool) Cache() *kv.Cache { return p.cache }

// Descriptor returns what the pool stores.
func (p *Pool) Descriptor() *plan.StateDescriptor { return &p.d }

// ByPosition reports whether a state keeps positions apart, so that it can be
// continued at earlier ones.
func (p *Pool) ByPosition() bool { return p.d.PageTokens != 0 }

// Persistent reports whether a state outlives its request.
func (p *Pool) Persistent() bool { return p.d.Lifecycle == plan.SlotPersistent }

// Close frees the storage.
func (p *Pool) Close() { p.cache.Close() }
