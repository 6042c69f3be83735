package sched

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
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

// makeStorage creates one cache per state and divides the budget among them.
func (s *Scheduler) makeStorage(cfg *Config) error {
	budget := cfg.CacheBytes
	s.storage.spacing, s.storage.maxSnapshots = cmp.Or(cfg.SnapshotTokens, 256), max(0, cmp.Or(cfg.Snapshots, usualSnapshots))
	ec := s.x.Config()
	descriptors := s.x.States()
	s.storage.plain = true
	all := divide(descriptors, budget, ec.Context, ec.MaxTokens, s.storage.maxSnapshots)
	s.context = capacity(all, ec.Context)
	for i := range all {
		c := all[i].Config
		c.Account = cfg.Account
		p, err := NewStatePool(descriptors[i], c)
		if e, ok := errors.AsType[*kv.ConfigError](err); ok && e.Field == "MaxBytes" {
			return &CacheError{budget, leastCache(all)}
		}
		if err != nil {
			return err
		}
		s.storage.pools = append(s.storage.pools, p)
		s.storage.scoped = s.storage.scoped || descriptors[i].Lifecycle == plan.RequestScoped
		s.storage.plain = s.storage.plain && p.Persistent() && p.ByPosition() && c.Window == 0
		s.storage.snapshots = s.storage.snapshots || p.Persistent() && !p.ByPosition()
	}
	return nil
}

// A share is the cache of a state, and its part of the memory of all.
type share struct {
	kv.Config
	part float64
}

// divide divides so many bytes among the caches of states, 0 = without bound, in proportion
// to what a sequence that fills the context takes of each: a state with a window takes little.
func divide(states []plan.StateDescriptor, bytes int64, context, chunk, snapshots int) []share {
	all, total := make([]share, len(states)), 0.0
	for i := range states {
		c := StateStorage(&states[i], nil)
		w := float64(pages(&c, context, chunk)) * float64(c.PageBytes)
		if c.Fixed {
			w *= 1 + float64(snapshots) // the state, and its snapshots
		}
		all[i], total = share{c, w}, total+w
	}
	for i := range all {
		if all[i].part /= total; bytes > 0 {
			all[i].MaxBytes = max(1, int64(float64(bytes)*all[i].part))
		}
	}
	return all
}

// leastCache returns the least budget in which each state has a page.
func leastCache(all []share) int64 {
	least := 0.0
	for i := range all {
		least = max(least, float64(all[i].PageBytes)/all[i].part)
	}
	return int64(math.Ceil(least)) + int64(len(all)-1) // shares are rounded down
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

// usualSnapshots is the default of [Config.Snapshots].
const usualSnapshots = 4

// Capacity returns how many tokens a sequence may have: as many as the context, unless so many
// bytes, which a scheduler divides among the caches of the states, are memory for the keys and
// values of fewer, even for one that is alone. Steps compute up to chunk tokens of a prompt.
func Capacity(states []plan.StateDescriptor, bytes int64, context, chunk int) int {
	return capacity(divide(states, bytes, context, chunk, usualSnapshots), context)
}

func capacity(all []share, context int) int {
	return sort.Search(context, func(n int) bool { // the first whose next one does not fit
		return slices.ContainsFunc(all, func(c share) bool { return pages(&c.Config, n+1, 1) > c.Limit() })
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
