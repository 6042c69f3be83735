package memory

// Cascade: a list of levels with a quota each. What scores lowest in a level that
// is over its quota goes down to the next one.

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
)

// NoQuota is the quota of a level without limit.
const NoQuota = math.MaxUint64

// A Level is one memory of a [Cascade]: a tier of its manager, or a part of one.
type Level struct {
	Name  string
	Tier  Tier   // RAM or SSD
	Quota uint64 // bytes
	// Soft lets the last level hold more than its quota; [Cascade.Over] says by how
	// much. What a last level that is not soft has no room for is removed.
	Soft bool
}

// A Score orders what a level holds: it fills out with a number for each id,
// and the lowest goes first. It is called with the cascade locked.
type Score func(level int, ids []string, out []float64)

// A Descent is one step down that a [Cascade] made to keep a quota.
type Descent struct {
	ID       string
	From, To int // levels; To is -1 for what was removed
	Score    float64
}

// A Cascade keeps the quotas of several levels. Its owner holds the bytes: tiers
// of the manager follow the levels, so that a step between two levels of one
// tier moves nothing and a step to another asks the owner to move. It is safe
// for concurrent use; moves of one cascade wait for each other.
type Cascade struct {
	m     *Manager
	owner Owner
	score Score

	mu     sync.Mutex
	levels []Level
	used   []uint64
	at     map[string]int
	ids    []string // scratch
	scores []float64
}

// NewCascade returns a cascade without tensors. Its levels go from the fastest
// to the slowest.
func NewCascade(m *Manager, o Owner, levels []Level, s Score) *Cascade {
	return &Cascade{m: m, owner: o, score: s, levels: slices.Clone(levels), used: make([]uint64, len(levels)), at: map[string]int{}}
}

// Add registers a tensor whose bytes the owner has put where the level is. It
// may be over quota afterwards, until [Cascade.Settle].
func (c *Cascade) Add(id string, bytes uint64, level int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.at[id]; ok {
		return &MoveError{Kind: errUnsupported, ID: id, Why: "it is in the cascade already"}
	}
	if err := c.m.RegisterOwned(id, bytes, c.levels[level].Tier, c.owner); err != nil {
		return err
	}
	c.at[id] = level
	c.used[level] += bytes
	return nil
}

// Remove forgets a tensor; its owner frees the bytes.
func (c *Cascade) Remove(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remove(id)
}

func (c *Cascade) remove(id string) error {
	level, ok := c.at[id]
	if !ok {
		return unknown(id)
	}
	n, _ := c.m.Len(id)
	if err := c.m.Remove(id); err != nil {
		return err
	}
	c.used[level] -= n
	delete(c.at, id)
	return nil
}

// Level returns the level of a tensor.
func (c *Cascade) Level(id string) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	level, ok := c.at[id]
	return level, ok
}

// SetQuota changes a level's quota; [Cascade.Settle] keeps it.
func (c *Cascade) SetQuota(level int, bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.levels[level].Quota = bytes
}

// Used returns the bytes in a level.
func (c *Cascade) Used(level int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used[level]
}

// Over returns by how many bytes a level exceeds its quota.
func (c *Cascade) Over(level int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over(level)
}

func (c *Cascade) over(level int) uint64 {
	return c.used[level] - min(c.used[level], c.levels[level].Quota)
}

// Move brings a tensor to a level, whatever its quota. If that fails the tensor
// is where it was.
func (c *Cascade) Move(ctx context.Context, id string, to int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.move(ctx, id, to)
}

func (c *Cascade) move(ctx context.Context, id string, to int) error {
	from, ok := c.at[id]
	if !ok {
		return unknown(id)
	}
	if from == to {
		return nil
	}
	n, _ := c.m.Len(id)
	if c.levels[from].Tier != c.levels[to].Tier {
		if _, err := c.m.Move(ctx, id, c.levels[to].Tier); err != nil {
			return err
		}
	}
	c.used[from] -= n
	c.used[to] += n
	c.at[id] = to
	return nil
}

// Settle moves tensors down until every level but a soft last one keeps its
// quota: level by level from the fastest, one tensor at a time, all scores anew
// after each. The tensor keep, just brought in for use, stays where it is. made,
// if not nil, learns of every step after it was made.
func (c *Cascade) Settle(ctx context.Context, keep string, made func(Descent)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for level := range c.levels {
		last := level == len(c.levels)-1
		if last && c.levels[level].Soft {
			break
		}
		for c.over(level) > 0 {
			id, score, ok := c.lowest(level, keep)
			if !ok {
				break // what is left has to stay
			}
			d := Descent{ID: id, From: level, To: level + 1, Score: score}
			var err error
			if last {
				d.To = -1
				err = c.remove(id)
			} else {
				err = c.move(ctx, id, level+1)
			}
			if errors.Is(err, errLeased) {
				break // its user gives it back first
			}
			if err != nil {
				return err
			}
			if made != nil {
				made(d)
			}
		}
	}
	return nil
}

// lowest returns the tensor of a level with the lowest score, ties to the
// smallest id. NaN counts as the lowest.
func (c *Cascade) lowest(level int, keep string) (id string, score float64, ok bool) {
	c.ids = c.ids[:0]
	for id, at := range c.at {
		if at == level {
			c.ids = append(c.ids, id)
		}
	}
	slices.Sort(c.ids)
	c.scores = slices.Grow(c.scores[:0], len(c.ids))[:len(c.ids)]
	c.score(level, c.ids, c.scores)
	for i, s := range c.scores {
		if c.ids[i] != keep && (!ok || cmp.Less(s, score)) {
			id, score, ok = c.ids[i], s, true
		}
	}
	return id, score, ok
}
