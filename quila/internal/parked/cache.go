package parked

import (
	"sync"

	"atenia/grad"
)

// A Cache keeps the embeddings of blocks of earlier calls. It is safe for
// concurrent use.
type Cache[F grad.Float] struct {
	most int // entries

	mu     sync.Mutex
	rows   map[key]*cached[F]
	newest *cached[F] // a ring, from the newest to the oldest
	counts CacheCounts
}

// CacheCounts are what a cache did.
type CacheCounts struct {
	Hits     int // builds that found a prefix
	Rebuilds int // builds that found none: another context, codebook or host
	Blocks   int // that were found
}

// A cached is the embedding of a block, in the order of use.
type cached[F grad.Float] struct {
	key          key
	row          []F
	newer, older *cached[F]
}

// NewCache makes a cache of at most so many blocks.
func NewCache[F grad.Float](most int) *Cache[F] {
	return &Cache[F]{most: max(most, 1), rows: map[key]*cached[F]{}}
}

// Counts returns what the cache did.
func (c *Cache[F]) Counts() CacheCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// longest returns the embeddings of the longest prefix that is known. They are
// not changed any more.
func (c *Cache[F]) longest(keys []key) (known [][]F) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		e := c.rows[k]
		if e == nil {
			break
		}
		known = append(known, e.row)
	}
	if n := len(known); n > 0 {
		c.counts.Hits++
		c.counts.Blocks += n
	} else if len(keys) > 0 {
		c.counts.Rebuilds++
	}
	return known
}

// put enters the blocks of a tree, the first ones as the newest: a prefix is of no
// use without its beginning.
func (c *Cache[F]) put(keys []key, nodes []Node[F]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(keys) - 1; i >= 0; i-- {
		e := c.rows[keys[i]]
		if e == nil {
			e = &cached[F]{key: keys[i], row: append([]F(nil), nodes[i].Embedding...)}
			c.rows[keys[i]] = e
		} else {
			c.unlink(e)
		}
		c.link(e)
	}
	for len(c.rows) > c.most {
		oldest := c.newest.newer
		c.unlink(oldest)
		delete(c.rows, oldest.key)
	}
}

// link makes an entry the newest.
func (c *Cache[F]) link(e *cached[F]) {
	e.newer, e.older = e, e
	if n := c.newest; n != nil {
		e.older, e.newer = n, n.newer
		n.newer.older, n.newer = e, e
	}
	c.newest = e
}

func (c *Cache[F]) unlink(e *cached[F]) {
	if c.newest == e {
		if c.newest = e.older; c.newest == e {
			c.newest = nil
		}
	}
	e.newer.older, e.older.newer = e.older, e.newer
}
