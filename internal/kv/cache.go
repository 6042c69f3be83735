package kv

import (
	"math"
	"slices"

	"atenia/internal/arena"
	"atenia/internal/invariant"
)

// DefaultPageTokens is the page length of a [Config] that names none.
const DefaultPageTokens = 16

// pageAlign is what page starts are multiples of, in bytes: a cache line and
// the widest vector.
const pageAlign = 64

// slabBytes is how much memory a cache asks for at a time, at least a page.
const slabBytes = 4 << 20

// Config describes the pages of a [Cache].
type Config struct {
	PageTokens int   // positions per page; 0 means DefaultPageTokens
	PageBytes  int   // bytes per page, over all layers of the group
	Window     int   // how many positions a query sees, itself included; 0 means all before it
	MaxPages   int   // budget in pages; 0 means no limit but MaxBytes
	MaxBytes   int64 // budget in bytes, pages rounded up to 64; 0 means no limit but MaxPages
	Zero       bool  // pages read as zero when a sequence gets them
}

// pageID names a page of one cache; noPage is none.
type pageID uint32

const noPage pageID = 0

// A Cache is a pool of equal pages and the count of their owners. It belongs
// to one goroutine at a time, together with its sequences.
type Cache struct {
	cfg    Config
	stride int // bytes from page to page in a slab: PageBytes, aligned
	limit  int // pages the budget allows

	slabs   []arena.Block
	perSlab int
	carved  int      // pages that slabs were cut into so far
	refs    []int32  // [carved] owners of page id, at index id−1
	dirty   []bool   // [carved] whether the page was handed out before
	free    []pageID // last freed is first reused: its bytes may be in cache
	shared  int      // pages with more than one owner
	seqs    int      // sequences not released
	closed  bool
}

// New returns an empty cache. A faulty Config is a joined list of
// *[ConfigError].
func New(c Config) (*Cache, error) {
	if c.PageTokens == 0 {
		c.PageTokens = DefaultPageTokens
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	stride := (c.PageBytes + pageAlign - 1) / pageAlign * pageAlign
	limit := math.MaxInt32
	if c.MaxPages > 0 {
		limit = min(limit, c.MaxPages)
	}
	if c.MaxBytes > 0 {
		limit = int(min(int64(limit), c.MaxBytes/int64(stride)))
	}
	if limit == 0 {
		return nil, &ConfigError{Field: "MaxBytes", Got: c.MaxBytes, Want: "room for one page or more"}
	}
	return &Cache{
		cfg:     c,
		stride:  stride,
		limit:   limit,
		perSlab: min(max(slabBytes/stride, 1), limit),
	}, nil
}

// Config returns what the cache was made with, defaults filled in.
func (c *Cache) Config() Config { return c.cfg }

// Close gives the memory back to the system. Page bytes must not be touched
// afterwards; every Extend fails. Calling it again does nothing more.
func (c *Cache) Close() {
	invariant.Check(c.closed || c.seqs == 0, "kv: cache closed under a live sequence")
	c.closed = true
	for i := range c.slabs {
		c.slabs[i].Release()
	}
	c.slabs = nil
}

// Stats counts the pages of a cache.
type Stats struct {
	Limit  int // pages the budget allows
	Used   int // pages with an owner
	Shared int // pages among Used with more than one owner
	Free   int // pages that may still be had: Limit − Used
	Seqs   int // sequences not released

	PageBytes int64 // what a page costs, alignment included
	UsedBytes int64 // Used · PageBytes
	HeldBytes int64 // memory taken from the system, used or not
}

// Stats returns the counts of this moment.
func (c *Cache) Stats() Stats {
	used := c.carved - len(c.free)
	return Stats{
		Limit:     c.limit,
		Used:      used,
		Shared:    c.shared,
		Free:      c.limit - used,
		Seqs:      c.seqs,
		PageBytes: int64(c.stride),
		UsedBytes: int64(used) * int64(c.stride),
		HeldBytes: int64(c.carved) * int64(c.stride),
	}
}

// ensure makes n pages ready to take, or changes nothing that can be seen and
// returns a *MemoryError.
func (c *Cache) ensure(n int) error {
	if c.closed {
		return ErrClosed
	}
	if n <= len(c.free) {
		return nil
	}
	room := c.limit - c.carved + len(c.free)
	if n > room {
		return &MemoryError{Need: c.bytes(n), Have: c.bytes(room)}
	}
	for len(c.free) < n {
		if err := c.carve(); err != nil {
			return &MemoryError{Need: c.bytes(n), Have: c.bytes(len(c.free)), Err: err}
		}
	}
	return nil
}

// carve gets a slab, cuts it into pages and puts them on the free list.
func (c *Cache) carve() error {
	n := min(c.perSlab, c.limit-c.carved)
	s, err := arena.New(n * c.stride)
	if err != nil {
		return err
	}
	c.slabs = append(c.slabs, s)
	c.refs = append(c.refs, make([]int32, n)...)
	c.dirty = append(c.dirty, make([]bool, n)...)
	// Room for every page there is, so that freeing never allocates.
	c.free = slices.Grow(c.free, c.carved+n-len(c.free))
	for i := n; i > 0; i-- { // lowest on top
		c.free = append(c.free, pageID(c.carved+i))
	}
	c.carved += n
	return nil
}

// take returns a free page with one owner; ensure came before. Its bytes are
// zero if blank is set.
func (c *Cache) take(blank bool) pageID {
	last := len(c.free) - 1
	id := c.free[last]
	c.free = c.free[:last]
	invariant.Check(c.refs[id-1] == 0, "kv: page on the free list has an owner")
	c.refs[id-1] = 1
	// Slabs come zeroed, so only a page that was used before needs it.
	if c.dirty[id-1] && blank {
		clear(c.page(id))
	}
	c.dirty[id-1] = true
	return id
}

// share adds an owner to the page.
func (c *Cache) share(id pageID) {
	invariant.Check(c.refs[id-1] > 0, "kv: sharing a free page")
	c.refs[id-1]++
	if c.refs[id-1] == 2 {
		c.shared++
	}
}

// drop takes an owner from the page and frees it after the last one.
func (c *Cache) drop(id pageID) {
	invariant.Check(c.refs[id-1] > 0, "kv: page given back twice")
	c.refs[id-1]--
	switch c.refs[id-1] {
	case 1:
		c.shared--
	case 0:
		if invariant.Enabled && !c.closed {
			poison(c.page(id))
		}
		c.free = append(c.free, id)
	}
}

// poison makes a stale read of a freed page show: every float is not a number.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xFF
	}
}

// page returns the bytes of a page, PageBytes of them.
func (c *Cache) page(id pageID) []byte {
	i := int(id - 1)
	at := i % c.perSlab * c.stride
	return c.slabs[i/c.perSlab].Bytes[at : at+c.cfg.PageBytes : at+c.cfg.PageBytes]
}

// bytes returns what n pages cost, saturated.
func (c *Cache) bytes(n int) int64 {
	if int64(n) > math.MaxInt64/int64(c.stride) {
		return math.MaxInt64
	}
	return int64(n) * int64(c.stride)
}
