package ring

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/machine/ledger"
)

// A ExpertLayer is the experts of one layer: the parts of each, such as gate, up and
// down.
type ExpertLayer struct {
	Experts []Unit
	Held    bool // never evicted: slots of their own are added
}

// A ExpertConfig configures a [ExpertCache]. Zero numbers select defaults.
type ExpertConfig struct {
	Files   []Source
	Layers  []ExpertLayer
	Slots   int             // experts in memory at once, beside held ones; no more are used than there are
	Account *ledger.Account // that the slots are reserved in
	Readers int             // concurrent reads; 0 = 8
	Piece   int             // size of one read; 0 = 1 MiB
	// Verify compares the bytes of an expert with those of its first read.
	Verify bool
}

const (
	usualReaders = 8
	usualPiece   = 1 << 20
)

// A ExpertCache holds experts. Begin, Use, Acquire, Release and End must be called by
// one goroutine; the other methods are safe for concurrent use.
type ExpertCache struct {
	files  []Source
	verify bool
	piece  int
	block  ledger.Block
	slot   int // bytes
	layers []layer
	all    []expert // of all layers
	exited sync.WaitGroup
	gone   sync.Once
	whole  atomic.Bool

	mu    sync.Mutex
	work  sync.Cond // for readers: there may be a piece to read
	ready sync.Cond // for the user: an expert was read, or a read ended

	slots  []expertSlot
	free   []int32 // slots without an expert
	recent order   // of slots that may be evicted
	scan   bool    // of the layer in use: what it reads is evicted first

	list     []int32 // the experts in use, in order
	scratch  []int32
	found    int // experts in list that were in memory
	issue    int // the expert in list that is read next
	taken    int // experts before it are acquired
	released int // those before it are released

	part, at int       // of the expert being issued: the next piece to read
	flying   int       // reads in flight
	since    time.Time // reads have been in flight since then
	begun    time.Time // start of the step
	fail     error
	halted   bool // nothing is read, because a step was abandoned
	closed   bool
	stop     *atomic.Bool
	stats    ExpertStats
}

type layer struct{ first, n int32 } // in all

// An expert is one that may be in memory.
type expert struct {
	parts  Unit
	slot   int32 // -1 = not in memory
	own    int32 // the slot of a held one; -1 = any
	pieces int32 // reads
	summed bool
	sum    uint32
}

// A expertSlot is room for one expert.
type expertSlot struct {
	expert     int32 // -1 = none
	left       int32 // pieces to be read
	ready      bool
	inUse      bool  // in list and not released
	last       bool  // evicted first, when it is released
	prev, next int32 // in recent
}

// NewExpertCache reserves the memory of a cache. Nothing is read before it is used.
func NewExpertCache(c ExpertConfig) (*ExpertCache, error) {
	if c.Readers == 0 {
		c.Readers = usualReaders
	}
	if c.Piece == 0 {
		c.Piece = usualPiece
	}
	if c.Readers < 1 || c.Piece < PageBytes || c.Piece%PageBytes != 0 {
		return nil, fmt.Errorf("experts: %d readers of %d bytes, want 1 or more and a multiple of %d", c.Readers, c.Piece, PageBytes)
	}
	x := &ExpertCache{files: c.Files, verify: c.Verify, piece: c.Piece}
	x.work.L, x.ready.L = &x.mu, &x.mu
	own, most, err := x.number(c.Layers)
	if err != nil {
		return nil, err
	}
	slots := min(c.Slots, len(x.all)-own)
	if slots < 1 && own < len(x.all) {
		return nil, fmt.Errorf("experts: %d slots for %d experts, want at least 1", c.Slots, len(x.all)-own)
	}
	if x.block, err = ledger.NewHugeBlock(c.Account, ledger.Streamed, (slots+own)*x.slot); err != nil {
		return nil, fmt.Errorf("experts: %w", err)
	}
	x.slots = make([]expertSlot, slots+own)
	for i := range x.slots {
		x.slots[i].expert = -1
	}
	for i := slots - 1; i >= 0; i-- {
		x.free = append(x.free, int32(i))
	}
	for i := range x.all {
		if x.all[i].own >= 0 {
			x.all[i].own += int32(slots)
		}
	}
	x.recent.init()
	x.list, x.scratch = make([]int32, 0, most), make([]int32, 0, most)
	x.stats.Bytes, x.stats.Slots, x.stats.Experts = int64(len(x.block.Bytes)), len(x.slots), len(x.all)
	for range c.Readers {
		x.exited.Go(x.read)
	}
	return x, nil
}

// number lists the experts of all layers. It returns how many are held, and the
// most of a layer.
func (c *ExpertCache) number(layers []ExpertLayer) (own, most int, err error) {
	for i := range layers {
		l := &layers[i]
		c.layers = append(c.layers, layer{int32(len(c.all)), int32(len(l.Experts))})
		most = max(most, len(l.Experts))
		for _, parts := range l.Experts {
			if err := parts.Check(c.files); err != nil {
				return 0, 0, err
			}
			e := expert{parts: parts, slot: -1, own: -1}
			for k := range parts {
				e.pieces += int32((parts[k:k+1].Room() + c.piece - 1) / c.piece)
			}
			if e.pieces == 0 {
				return 0, 0, fmt.Errorf("experts: an expert of layer %d is empty", i)
			}
			if l.Held {
				e.own = int32(own)
				own++
			}
			c.slot = max(c.slot, parts.Room())
			c.all = append(c.all, e)
		}
	}
	if len(c.all) == 0 {
		return 0, 0, fmt.Errorf("experts: there are none")
	}
	return own, most, nil
}

// Begin starts a step. It fails with [fault.ErrChanged] if a file has changed. To
// end the step early, set stop, if it is not nil, and call [ExpertCache.Wake].
func (c *ExpertCache) Begin(stop *atomic.Bool) error {
	for _, f := range c.files {
		if err := f.Same(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop, c.begun = stop, time.Now()
	if c.fail != nil || c.halted || len(c.list) > 0 {
		// The last step was abandoned: reads still in flight could overwrite the
		// memory of this one.
		c.halted = true
		for c.flying > 0 {
			if err := c.ended(); err != nil {
				return err
			}
			c.ready.Wait()
		}
		c.abandon()
		c.fail, c.halted = nil, false
	}
	return c.ended()
}

// abandon forgets what was in use. What was being read is read again.
func (c *ExpertCache) abandon() {
	for i := range c.slots {
		s := &c.slots[i]
		switch {
		case s.expert < 0:
			continue
		case !s.ready:
			e := &c.all[s.expert]
			e.slot, s.expert = -1, -1
			if e.own < 0 {
				c.free = append(c.free, int32(i))
			}
		case s.inUse && c.all[s.expert].own < 0:
			c.recent.push(c.slots, int32(i), s.last)
		}
		s.inUse, s.last = false, false
	}
	c.list, c.issue, c.taken, c.released, c.part, c.at = c.list[:0], 0, 0, 0, 0, 0
}

// End ends a step. If ok is false, experts may still be in use: nothing more is
// read for them.
func (c *ExpertCache) End(ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted = !ok; !ok {
		return
	}
	c.list = c.list[:0]
	wall := time.Since(c.begun)
	if c.stats.Passes++; c.stats.Passes == 1 {
		c.stats.First = wall
	}
	c.stats.Wall += wall
}

// Use starts the use of experts of a layer, each at most once, which it sorts into
// the order in which they are acquired: those in memory first. All of the layer
// before must be released. With scan, those that are read are evicted first.
func (c *ExpertCache) Use(layer int, experts []int32, scan bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.scratch = c.list[:0], c.scratch[:0]
	c.issue, c.taken, c.released, c.part, c.at, c.scan = 0, 0, 0, 0, 0, scan
	first := c.layers[layer].first
	n := 0
	for _, k := range experts {
		e := &c.all[first+k]
		if e.slot < 0 {
			c.scratch = append(c.scratch, k)
			c.stats.Misses++
			continue
		}
		if e.own < 0 {
			c.recent.remove(c.slots, e.slot)
		}
		c.slots[e.slot].inUse = true
		c.stats.Hits++
		experts[n] = k
		n++
	}
	copy(experts[n:], c.scratch)
	for _, k := range experts {
		c.list = append(c.list, first+k)
	}
	if c.found, c.issue = n, n; n < len(experts) {
		c.work.Broadcast()
	}
}

// Acquire waits until the next expert in the order of [ExpertCache.Use] is in memory. It
// returns how many are, from there on: they stay until they are released. At most
// half of the slots are acquired at once, so that there is room to read others.
func (c *ExpertCache) Acquire() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var start time.Time
	for {
		if err := c.ended(); err != nil {
			return 0, err
		}
		if c.fail != nil {
			return 0, c.fail
		}
		n := c.taken
		for most := c.taken + max(1, len(c.slots)/2); n < len(c.list) && n < most; n++ {
			if s := c.all[c.list[n]].slot; s < 0 || !c.slots[s].ready {
				break
			}
		}
		if n > c.taken || c.taken == len(c.list) {
			if !start.IsZero() {
				c.stats.Wait += time.Since(start)
			}
			n -= c.taken
			c.taken += n
			return n, nil
		}
		if start.IsZero() {
			start = time.Now()
			c.stats.Late++
		}
		c.ready.Wait()
	}
}

// Release ends the use of all experts that were acquired.
func (c *ExpertCache) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.released < c.taken; c.released++ {
		e := &c.all[c.list[c.released]]
		s := &c.slots[e.slot]
		s.inUse = false
		if e.own < 0 {
			c.recent.push(c.slots, e.slot, s.last)
		}
		s.last = false
	}
	if c.issue < len(c.list) {
		c.work.Broadcast()
	}
}

// Bytes returns a part of an expert that is acquired.
func (c *ExpertCache) Bytes(layer, expert, part int) []byte {
	e := &c.all[int(c.layers[layer].first)+expert]
	at := int(e.slot)*c.slot + e.parts[:part].Room()
	s := &e.parts[part]
	at += int(s.Offset%PageBytes) - shift(s)
	return c.block.Bytes[at : at+s.Bytes : at+s.Bytes]
}

// shift returns how far down a part is moved to be aligned.
func shift(s *Span) int {
	if s.Align <= 1 {
		return 0
	}
	return int(s.Offset % PageBytes % int64(s.Align))
}

// Share returns how many experts of a layer the cache has room for, if each layer
// gets the same.
func (c *ExpertCache) Share() int { return len(c.slots) / len(c.layers) }

// SetWhole makes steps use all experts of a layer instead of those that tokens
// choose, so that the two can be compared: nothing else is a reason to.
func (c *ExpertCache) SetWhole(on bool) { c.whole.Store(on) }

// Whole reports whether all experts are to be used.
func (c *ExpertCache) Whole() bool { return c.whole.Load() }

// ended returns the error that ends the step, if any.
func (c *ExpertCache) ended() error {
	switch {
	case c.closed:
		return ErrClosed
	case c.stop != nil && c.stop.Load():
		return ErrStopped
	}
	return nil
}

// Wake makes a waiting step check whether it should stop.
func (c *ExpertCache) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready.Broadcast()
}

// Close stops the readers and frees the memory. No expert may be in use. It may be
// called more than once.
func (c *ExpertCache) Close() {
	c.mu.Lock()
	c.closed = true
	c.work.Broadcast()
	c.ready.Broadcast()
	c.mu.Unlock()
	c.exited.Wait()
	c.gone.Do(c.block.Release)
}
