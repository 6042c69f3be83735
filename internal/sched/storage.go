package sched

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync/atomic"

	"atenia/internal/memory/kv"
	"atenia/internal/plan"
)

// A storage holds the states of a model, for all sequences, and what their descriptors
// allow: how sequences are shared, continued and copied.
type storage struct {
	pools  []*StatePool
	scoped bool // a state belongs to its request, and with it what follows from it: sequences are not shared
	plain  bool // every state is addressed by position and has no window: a sequence serves every prompt that its beginnings do

	snapshots    bool // a state keeps no positions apart: snapshots are taken
	spacing      int  // tokens between two of them
	maxSnapshots int  // of a sequence

	held atomic.Int64 // bytes of all caches, read by other goroutines
}

// makeStorage creates one cache per state and divides the budget among them in
// proportion to what a sequence that fills the context takes of each: a state
// with a window takes little. 0 means no budget.
func (s *Scheduler) makeStorage(cfg *Config) error {
	budget := cfg.CacheBytes
	s.storage.spacing, s.storage.maxSnapshots = cmp.Or(cfg.SnapshotTokens, 256), max(0, cmp.Or(cfg.Snapshots, 4))
	ec := s.x.Config()
	var configs []kv.Config
	var weights []float64
	var total float64
	descriptors := s.x.States()
	s.storage.plain = true
	for i := range descriptors {
		c := StateStorage(&descriptors[i], cfg.Account)
		w := float64(pages(&c, ec.Context, ec.MaxTokens)) * float64(c.PageBytes)
		if c.Fixed {
			w *= 1 + float64(s.storage.maxSnapshots) // the state, and its snapshots
		}
		configs, weights, total = append(configs, c), append(weights, w), total+w
	}
	for i, c := range configs {
		if budget > 0 {
			c.MaxBytes = max(1, int64(float64(budget)*(weights[i]/total)))
		}
		p, err := NewStatePool(descriptors[i], c)
		if e, ok := errors.AsType[*kv.ConfigError](err); ok && e.Field == "MaxBytes" {
			return &CacheError{budget, leastCache(configs, weights)}
		}
		if err != nil {
			return err
		}
		s.storage.pools = append(s.storage.pools, p)
		s.storage.scoped = s.storage.scoped || descriptors[i].Lifecycle == plan.RequestScoped
		s.storage.plain = s.storage.plain && p.Persistent() && p.ByPosition() && configs[i].Window == 0
		s.storage.snapshots = s.storage.snapshots || p.Persistent() && !p.ByPosition()
	}
	return nil
}

// leastCache returns the least budget in which each state has a page.
func leastCache(configs []kv.Config, weights []float64) int64 {
	var total, least float64
	for _, w := range weights {
		total += w
	}
	for i := range configs {
		least = max(least, float64(configs[i].PageBytes)*total/weights[i])
	}
	return int64(math.Ceil(least)) + int64(len(configs)-1) // shares are rounded down
}

// A CacheError says that a budget for keys and values has no room for one page of each.
type CacheError struct{ Budget, Least int64 }

func (e *CacheError) Error() string {
	return fmt.Sprintf("a cache of %d bytes has no room for one page of keys and values: this model needs %d or more", e.Budget, e.Least)
}

// pages returns the most pages that a sequence of n tokens holds while it is
// computed in chunks.
func pages(c *kv.Config, n, chunk int) int {
	if c.Fixed {
		return 1
	}
	p := (n + c.PageTokens - 1) / c.PageTokens
	if c.Window > 0 {
		// This many positions may start anywhere in a page.
		seen := c.Window - 1 + chunk
		p = min(p, (seen+c.PageTokens-2)/c.PageTokens+1)
	}
	return p
}

// capacity returns how many tokens a sequence may have: as many as the context, unless there
// is memory for the keys and values of fewer, even for one that is alone.
func (s *Scheduler) capacity() int {
	return sort.Search(s.x.Config().Context, func(n int) bool { // the first whose next one does not fit
		for _, p := range s.storage.pools {
			cfg := p.Cache().Config()
			if pages(&cfg, n+1, 1) > p.Cache().Stats().Limit {
				return true
			}
		}
		return false
	})
}

// countHeld publishes the memory held by the caches.
func (s *Scheduler) countHeld() {
	var n int64
	for _, pool := range s.storage.pools {
		c := pool.Cache()
		n += c.Stats().HeldBytes
	}
	if s.drafts.model != nil {
		n += s.drafts.model.heldBytes()
	}
	s.storage.held.Store(n)
}
