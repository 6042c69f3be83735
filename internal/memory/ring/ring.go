package ring

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/memory/arena"
	"atenia/internal/memory/ledger"
)

// A Config configures a [Ring]. Zero numbers select defaults that suit a disk of
// 1 to 4 GB/s.
type Config struct {
	Files   []Source
	Units   []Unit          // in the order of use
	Bytes   int             // size of the ring; at least [Floor] of the units
	Account *ledger.Account // that the ring is reserved in
	Readers int             // concurrent reads; 0 = 8
	Piece   int             // size of one read; 0 = 2 MiB
	// Verify records checksums during the first pass and verifies later ones
	// against them.
	Verify bool
	// Events is called for every [Event], one at a time and in the order of their
	// times. Readers and the user wait for it; it must not call the ring. nil costs
	// nothing.
	Events func(Event)
}

const (
	usualReaders = 8 // more than the disk needs, because some wait for a processor or for the end of a unit
	usualPiece   = 2 << 20
)

// ErrClosed is returned by a closed ring.
var ErrClosed = errors.New("ring: closed")

// ErrStopped is returned by a pass that was stopped.
var ErrStopped = errors.New("ring: stopped")

// A Ring reads units ahead of their use. Begin, Acquire, Release and End must be
// called by one goroutine; the other methods are safe for concurrent use.
//
// Every use of a unit has a number that grows from pass to pass: unit u of pass
// p is use p·len(units)+u.
type Ring struct {
	files  []Source
	verify bool
	block  arena.Block
	units  []unit
	exited sync.WaitGroup
	gone   sync.Once

	mu    sync.Mutex
	work  sync.Cond // for readers: there is a piece to read, or the ring is closed
	ready sync.Cond // for the user: a piece was read, failed or was stopped

	base     uint64   // first use of this pass
	issue    uint64   // the use being read
	piece    int      // the next piece of it to read
	released uint64   // all uses before it are over
	active   int      // readers that take work; the others wait
	flight   []uint64 // by reader: the use it reads for, plus one; 0 = idle
	loaded   []uint64 // by unit: the last use whose bytes are loaded, plus one
	left     []int    // by unit: pieces still to be read
	fail     error
	halted   bool // no reads are issued, because a pass was abandoned
	closed   bool
	stop     *atomic.Bool
	stats    Stats
	begun    time.Time // start of the pass
	since    time.Time // reads have been in flight since then

	events func(Event)
	using  int // the unit in use, plus one; for events only
}

// A unit is a [Unit] with its place in the ring.
type unit struct {
	slot
	views  [][]byte
	pieces []piece
	moves  []move
}

// New allocates a ring and starts reading its first units.
func New(c Config) (*Ring, error) {
	if c.Readers == 0 {
		c.Readers = usualReaders
	}
	if c.Piece == 0 {
		c.Piece = usualPiece
	}
	if c.Readers < 1 || c.Piece < PageBytes || c.Piece%PageBytes != 0 {
		return nil, fmt.Errorf("ring: %d readers of %d bytes, want 1 or more and a multiple of %d", c.Readers, c.Piece, PageBytes)
	}
	sizes := make([]int, len(c.Units))
	for i, u := range c.Units {
		for k := range u {
			if err := u[k].check(c.Files); err != nil {
				return nil, err
			}
		}
		if sizes[i] = u.Room(); sizes[i] == 0 {
			return nil, fmt.Errorf("ring: unit %d is empty", i)
		}
	}
	if len(sizes) == 0 || c.Bytes < Floor(c.Units) {
		return nil, fmt.Errorf("ring: %d bytes for %d units, want at least %d", c.Bytes, len(sizes), Floor(c.Units))
	}
	r := &Ring{
		files: c.Files, verify: c.Verify, events: c.Events, units: make([]unit, len(sizes)),
		flight: make([]uint64, c.Readers), loaded: make([]uint64, len(sizes)), left: make([]int, len(sizes)),
	}
	r.work.L, r.ready.L = &r.mu, &r.mu
	slots := place(sizes, c.Bytes)
	used := 0
	for i := range slots {
		used = max(used, slots[i].at+slots[i].size)
	}
	var err error
	if r.block, err = arena.NewHuge(c.Account, ledger.Streamed, used); err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	touch(r.block.Bytes)
	for i, s := range slots {
		u := unit{slot: s}
		u.views, u.pieces, u.moves = cut(c.Units[i], r.block.Bytes[s.at:s.at+s.size], c.Piece)
		r.units[i] = u
	}
	r.stats.Bytes, r.active = int64(used), c.Readers
	for i := range c.Readers {
		r.exited.Go(func() { r.read(i) })
	}
	return r, nil
}

// touch faults in all pages of b now: first touches are several times slower
// than a disk, and a lack of memory should show at the start.
func touch(b []byte) {
	for i := 0; i < len(b); i += PageBytes {
		b[i] = 0
	}
}

// Bytes returns the memory of a span. It is valid while the unit is acquired;
// the address never changes.
func (r *Ring) Bytes(unit, span int) []byte { return r.units[unit].views[span] }

// Begin starts a pass. It fails with [ErrChanged] if a file has changed. To end
// the pass early, set stop, if it is not nil, and call [Ring.Wake].
func (r *Ring) Begin(stop *atomic.Bool) error {
	for _, f := range r.files {
		if err := f.Same(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop, r.begun = stop, time.Now()
	n := uint64(len(r.units))
	if r.fail != nil || r.halted {
		// The last pass was abandoned: reads still in flight could overwrite the
		// memory of this pass.
		r.halted = true
		for r.flying() {
			if err := r.ended(); err != nil {
				return err
			}
			r.ready.Wait()
		}
		r.base += n
		r.issue, r.piece, r.released = r.base, 0, r.base
		clear(r.loaded) // units read ahead for this pass are read again
		r.fail, r.halted = nil, false
	}
	r.work.Broadcast()
	r.emit(Event{EventKind: PassBegins})
	return r.ended()
}

// End ends a pass and releases all units. If ok is false, it discards what was
// read ahead.
func (r *Ring) End(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endUse()
	if !ok {
		r.halted = true
		r.emit(Event{EventKind: PassFails})
		return
	}
	r.emit(Event{EventKind: PassEnds})
	r.base += uint64(len(r.units))
	r.stats.Passes++
	wall := time.Since(r.begun)
	if r.stats.Wall += wall; r.stats.Passes == 1 {
		r.stats.First = wall
	}
	r.release(r.base)
}

// Acquire waits until a unit is in memory and pins it until it is released. It
// releases all earlier units, so a pass may skip some.
func (r *Ring) Acquire(unit int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	use := r.base + uint64(unit)
	r.endUse()
	r.release(use)
	if r.loaded[unit] == use+1 {
		r.stats.Hits++
		return r.begin(unit)
	}
	start := time.Now()
	r.emit(Event{EventKind: WaitBegins, Unit: unit})
	for r.loaded[unit] != use+1 {
		if err := r.ended(); err != nil {
			return err
		}
		if r.fail != nil {
			return r.fail
		}
		r.ready.Wait()
	}
	r.stats.Late++
	r.stats.Stall += time.Since(start)
	return r.begin(unit)
}

// begin marks a loaded unit as in use.
func (r *Ring) begin(unit int) error {
	r.using = unit + 1
	r.emit(Event{EventKind: UseBegins, Unit: unit})
	return r.ended()
}

// Lead returns how far ahead a unit may be read, in uses: it waits for the
// release of the unit that many uses earlier, whose memory it takes.
func (r *Ring) Lead(unit int) int { return r.units[unit].back }

// Release ends the use of a unit in this pass.
func (r *Ring) Release(unit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endUse()
	r.release(r.base + uint64(unit) + 1)
}

// release ends all uses before one.
func (r *Ring) release(use uint64) {
	if use > r.released {
		r.released = use
		r.work.Broadcast()
	}
}

// ended returns the error that ends the pass, if any.
func (r *Ring) ended() error {
	switch {
	case r.closed:
		return ErrClosed
	case r.stop != nil && r.stop.Load():
		return ErrStopped
	}
	return nil
}

// SetReaders bounds the reads in flight from the next one on to n of
// [Config].Readers, at least 1: what a disk does best with depends on who else
// reads. It is safe for concurrent use.
func (r *Ring) SetReaders(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = max(1, min(n, len(r.flight))); n != r.active {
		r.active = n
		r.work.Broadcast()
	}
}

// Readers returns how many reads may be in flight at most.
func (r *Ring) Readers() int { return len(r.flight) }

// Wake makes a waiting pass check whether it should stop.
func (r *Ring) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready.Broadcast()
}

// Close stops the readers and frees the memory. No unit may be in use. It may be
// called more than once.
func (r *Ring) Close() {
	r.mu.Lock()
	r.closed = true
	r.work.Broadcast()
	r.ready.Broadcast()
	r.mu.Unlock()
	r.exited.Wait()
	r.gone.Do(r.block.Release)
}
