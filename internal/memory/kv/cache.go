package kv

import (
	"math"
	"slices"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
)

// defaultPageTokens is the page length of a [Config] that leaves it zero.
const defaultPageTokens = 16

// fixedTokens is the page length of a fixed state: longer than any sequence.
const fixedTokens = 1 << 30

// pageAlign is the alignment of pages in bytes: a cache line and the widest
// vector.
const pageAlign = 64

// SlabBytes is the least that a [Cache] allocates at a time, unless its budget is less.
const SlabBytes = 4 << 20

// Config describes the pages of a [Cache].
type Config struct {
	PageTokens int             // positions per page; 0 means defaultPageTokens
	PageBytes  int             // bytes per page, over all layers of the group
	Window     int             // positions that a query attends to, itself included; 0 means all before it
	MaxPages   int             // budget in pages; 0 means no limit but MaxBytes
	MaxBytes   int64           // budget in bytes, pages rounded up to 64; 0 means no limit but MaxPages
	Fixed      bool            // a sequence has one page, whatever its length: a state that is not addressed by position
	Zero       bool            // clear pages when they are handed out
	Account    *ledger.Account // that pages are reserved in
}

// A pageID names a page of one cache; noPage is none.
type pageID uint32

const noPage pageID = 0

// A Cache is a pool of equally sized, reference-counted pages. A Cache and its
// sequences must be used by one goroutine at a time.
type Cache struct {
	cfg    Config
	stride int // bytes from page to page in a slab: PageBytes, aligned
	limit  int // pages allowed by the budget

	slabs   []ledger.Block
	perSlab int
	carved  int      // pages carved from slabs so far
	gone    int      // of those, pages whose slabs were given back
	refs    []int32  // [carved] owners of page id, at index id−1
	dirty   []bool   // [carved] whether the page has been used before
	free    []pageID // last freed is first reused, as it may still be in the processor's cache
	shared  int      // pages with more than one owner
	seqs    int      // sequences not released
	closed  bool
}

// stride returns the bytes of a page with those that align the next.
func (c *Config) stride() int { return (c.PageBytes + pageAlign - 1) / pageAlign * pageAlign }

// Limit returns how many pages the budget allows.
func (c *Config) Limit() int {
	limit := math.MaxInt32
	if c.MaxPages > 0 {
		limit = min(limit, c.MaxPages)
	}
	if c.MaxBytes > 0 {
		limit = int(min(int64(limit), c.MaxBytes/int64(c.stride())))
	}
	return limit
}

// New returns an empty cache. An invalid Config is reported as joined
// *[ConfigError]s.
func New(c Config) (*Cache, error) {
	if c.PageTokens == 0 {
		c.PageTokens = defaultPageTokens
	}
	if c.Fixed {
		c.PageTokens, c.Window = fixedTokens, 0
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	stride, limit := c.stride(), c.Limit()
	if limit == 0 {
		return nil, &ConfigError{Field: "MaxBytes", Got: c.MaxBytes, Want: "room for one page or more"}
	}
	return &Cache{
		cfg:     c,
		stride:  stride,
		limit:   limit,
		perSlab: min(max(SlabBytes/stride, 1), limit),
	}, nil
}

// Config returns the cache's configuration with defaults filled in.
func (c *Cache) Config() Config { return c.cfg }

// Close frees the memory. Pages must not be accessed afterwards; every Extend
// fails. Close may be called more than once.
func (c *Cache) Close() {
	fault.Invariant(c.closed || c.seqs == 0, "kv: cache closed under a live sequence")
	c.closed = true
	for i := range c.slabs {
		c.slabs[i].Release()
	}
	c.slabs = nil
}

// Stats counts the pages and bytes of a cache.
type Stats struct {
	Limit  int // pages allowed by the budget
	Used   int // pages with an owner
	Shared int // pages among Used with more than one owner
	Free   int // pages still available: Limit − Used
	Seqs   int // sequences not released

	PageBytes int64 // size of a page, including alignment
	UsedBytes int64 // Used · PageBytes
	HeldBytes int64 // memory allocated from the system, used or not
}

// Stats returns the current counts.
func (c *Cache) Stats() Stats {
	used := c.carved - c.gone - len(c.free)
	return Stats{
		Limit:     c.limit,
		Used:      used,
		Shared:    c.shared,
		Free:      c.limit - used,
		Seqs:      c.seqs,
		PageBytes: int64(c.stride),
		UsedBytes: int64(used) * int64(c.stride),
		HeldBytes: int64(c.carved-c.gone) * int64(c.stride),
	}
}

// ensure makes n pages available to take, or returns a *MemoryError and changes
// nothing observable.
func (c *Cache) ensure(n int) error {
	if c.closed {
		return errClosed
	}
	if n <= len(c.free) {
		return nil
	}
	room := c.limit - c.carved + c.gone + len(c.free)
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

// carve allocates a slab, carves it into pages and puts them on the free list.
func (c *Cache) carve() error {
	k := len(c.slabs)
	if c.gone > 0 {
		k = slices.IndexFunc(c.slabs, func(b ledger.Block) bool { return b.Bytes == nil })
	}
	first := k * c.perSlab
	n := min(c.perSlab, c.limit-first)
	s, err := ledger.NewBlock(c.cfg.Account, ledger.Cache, n*c.stride)
	if err != nil {
		return err
	}
	if k < len(c.slabs) {
		c.slabs[k] = s
		c.gone -= n
		clear(c.dirty[first : first+n])
	} else {
		c.slabs = append(c.slabs, s)
		c.refs = append(c.refs, make([]int32, n)...)
		c.dirty = append(c.dirty, make([]bool, n)...)
		c.carved += n
	}
	// Grow the list for all pages, so that freeing never allocates.
	c.free = slices.Grow(c.free, c.carved-len(c.free))
	for i := n; i > 0; i-- { // lowest on top
		c.free = append(c.free, pageID(first+i))
	}
	return nil
}

// Trim gives the memory back in which no sequence has a page.
func (c *Cache) Trim() {
	for k := range c.slabs {
		first := k * c.perSlab
		n := min(c.perSlab, c.limit-first)
		if c.slabs[k].Bytes == nil || slices.ContainsFunc(c.refs[first:first+n], func(owners int32) bool { return owners > 0 }) {
			continue
		}
		c.slabs[k].Release()
		c.gone += n
		c.free = slices.DeleteFunc(c.free, func(id pageID) bool { return int(id) > first && int(id) <= first+n })
	}
}

// take returns a free page with one owner; ensure must have succeeded. With
// blank its bytes are zero.
func (c *Cache) take(blank bool) pageID {
	last := len(c.free) - 1
	id := c.free[last]
	c.free = c.free[:last]
	fault.Invariant(c.refs[id-1] == 0, "kv: page on the free list has an owner")
	c.refs[id-1] = 1
	// New slabs are zero, so only a reused page must be cleared.
	if c.dirty[id-1] && blank {
		clear(c.page(id))
	}
	c.dirty[id-1] = true
	return id
}

// share adds an owner to the page.
func (c *Cache) share(id pageID) {
	fault.Invariant(c.refs[id-1] > 0, "kv: sharing a free page")
	c.refs[id-1]++
	if c.refs[id-1] == 2 {
		c.shared++
	}
}

// drop removes an owner from the page and frees it after the last one.
func (c *Cache) drop(id pageID) {
	fault.Invariant(c.refs[id-1] > 0, "kv: page given back twice")
	c.refs[id-1]--
	switch c.refs[id-1] {
	case 1:
		c.shared--
	case 0:
		if fault.Invariants && !c.closed {
			poison(c.page(id))
		}
		c.free = append(c.free, id)
	}
}

// poison fills a freed page with NaN, so that stale reads are noticed.
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

// bytes returns the size of n pages, saturated.
func (c *Cache) bytes(n int) int64 {
	if int64(n) > math.MaxInt64/int64(c.stride) {
		return math.MaxInt64
	}
	return int64(n) * int64(c.stride)
}
