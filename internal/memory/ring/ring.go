package ring

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/lane"
)

// A Config configures a [Ring]. Zero numbers select defaults that suit a disk of
// 1 to 4 GB/s.
type Config struct {
	Files   []Source
	Units   []Unit          // in the order of use
	Labels  []Label         // of the units, for the events of lanes; nil = they have none
	Bytes   int             // size of the ring; at least [Floor] of the units
	Account *ledger.Account // that the ring is reserved in
	// Lanes execute the reads, and are told what is computed with; nil = the ring
	// has lanes of its own, with Readers.
	Lanes   *lane.Executor
	Readers int // 0 = [Readers]
	Piece   int // size of one read; 0 = [Piece]
	// Verify records checksums during the first pass and verifies later ones
	// against them.
	Verify bool
	// Codes are the files of coded spans. They may change: chunks have checksums.
	Codes  []Source
	Stages int // bytes for chunks beside the ring; see [Stages]
	// Damaged is called once, by a lane, if a coded chunk is damaged; nil = no one
	// is told.
	Damaged func(error)
}

const (
	// Readers are as many as a ring wants: more than the disk needs, because some
	// wait for a processor or for the end of a unit.
	Readers = 8
	// Piece is the size of one read.
	Piece = 2 << 20
)

// A Label says what a [Unit] holds.
type Label struct {
	Name  string // of the weights that are read and used together
	Bytes int64
}

// ErrClosed is returned by a closed ring.
var ErrClosed = errors.New("ring: closed")

// ErrStopped is returned by a pass that was stopped.
var ErrStopped = errors.New("ring: stopped")

// A Ring reads units ahead of their use. Begin, Acquire, Release and End must be
// called by one goroutine, the user; the other methods are safe for concurrent
// use.
//
// Every use of a unit has a number that grows from pass to pass: unit u of pass
// p is use p·len(units)+u.
//
// The user submits the reads of a use to the lanes as soon as its memory is
// free, so that their order depends on nothing but what the user does.
type Ring struct {
	files  []Source
	codes  []Source
	verify bool
	block  ledger.Block
	units  []unit
	pieces []piece
	lanes  *lane.Executor
	own    bool // the lanes are the ring's
	tasks  *lane.Group
	gone   sync.Once

	// The user's alone.
	issue   uint64 // the use that is submitted next
	using   int    // the unit in use, plus one
	id      uint64 // of its task
	after   []uint64
	staging staging // its decoders are guarded by mu

	mu       sync.Mutex
	ready    sync.Cond // for the user: a unit was read, a read failed, or the pass was stopped
	base     uint64    // first use of this pass
	released uint64    // all uses before it are over
	reading  int       // reads in flight
	open     int       // tasks submitted and not ended
	strays   int       // uses released before all of their tasks ended
	loaded   []uint64  // by unit: the last use whose bytes are loaded, plus one
	fail     error
	halted   bool // tasks do nothing, because a pass was abandoned
	closed   bool
	stop     *atomic.Bool
	stats    Stats
	begun    time.Time // start of the pass
	since    time.Time // reads have been in flight since then
}

// A unit is a [Unit] with its place in the ring.
type unit struct {
	slot
	label  Label
	views  [][]byte
	pieces []piece // of the ring's
	moves  []move
	coded  int    // number of coded pieces
	uses   [2]use // by the parity of the pass: one may begin before the one before has ended
	// What is done with the unit, as tasks.
	read, decode, align, wait, compute lane.Task
}

// A use is what is known of the tasks of one use of a unit.
type use struct {
	number  uint64
	left    int  // tasks that have not ended
	dropped bool // some did nothing, or failed
	ids     []uint64
}

// New allocates a ring and starts reading its first units.
func New(c Config) (*Ring, error) {
	if c.Readers == 0 {
		c.Readers = Readers
	}
	if c.Piece == 0 {
		c.Piece = Piece
	}
	if c.Readers < 1 || c.Piece < PageBytes || c.Piece%PageBytes != 0 {
		return nil, fmt.Errorf("ring: %d readers of %d bytes, want 1 or more and a multiple of %d", c.Readers, c.Piece, PageBytes)
	}
	sizes := make([]int, len(c.Units))
	for i, u := range c.Units {
		if err := u.check(c.Files, len(c.Codes)); err != nil {
			return nil, err
		}
		if sizes[i] = u.Room(); sizes[i] == 0 {
			return nil, fmt.Errorf("ring: unit %d is empty", i)
		}
	}
	if len(sizes) == 0 || c.Bytes < Floor(c.Units) {
		return nil, fmt.Errorf("ring: %d bytes for %d units, want at least %d", c.Bytes, len(sizes), Floor(c.Units))
	}
	r := &Ring{files: c.Files, codes: c.Codes, verify: c.Verify, units: make([]unit, len(sizes)), loaded: make([]uint64, len(sizes)), lanes: c.Lanes}
	r.ready.L = &r.mu
	slots := place(sizes, c.Bytes)
	used := 0
	for i := range slots {
		used = max(used, slots[i].at+slots[i].size)
	}
	if whole := (used + ledger.HugePage - 1) / ledger.HugePage * ledger.HugePage; whole <= c.Bytes {
		used = whole // the last page, too
	}
	var err error
	if r.block, err = ledger.NewHugeBlock(c.Account, ledger.Streamed, used); err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	touch(r.block.Bytes)
	if err := r.openStages(&c); err != nil {
		r.block.Release()
		return nil, fmt.Errorf("ring: %w", err)
	}
	r.layOut(&c, slots)
	r.stats.Bytes = int64(used)
	if r.lanes == nil {
		r.own, r.lanes = true, lane.New(lane.Config{Readers: c.Readers, Computers: -1, Window: Window(used, 2*len(r.pieces), c.Piece)})
	}
	if r.tasks, err = r.lanes.Open(); err != nil {
		r.staging.close()
		r.block.Release()
		return nil, fmt.Errorf("ring: %w", err)
	}
	r.submit()
	return r, nil
}

// Window returns how many tasks a ring of a size has in flight at most, if it
// reads that many spans in pieces of a size.
func Window(bytes, spans, piece int) int { return 64 + 2*spans + 2*(bytes/piece) }

// layOut cuts the units into reads.
func (r *Ring) layOut(c *Config, slots []slot) {
	for i, s := range slots {
		u := &r.units[i]
		u.slot = s
		var pieces []piece
		u.views, pieces, u.moves = cut(c.Units[i], r.block.Bytes[s.at:s.at+s.size], c.Piece)
		for k := range pieces {
			pieces[k].unit, pieces[k].index = i, len(r.pieces)+k
			if pieces[k].code != nil {
				u.coded++
			}
		}
		r.pieces = append(r.pieces, pieces...)
		for k := range u.uses {
			u.uses[k].ids = make([]uint64, 0, len(pieces)+u.coded+1)
		}
		if i < len(c.Labels) {
			u.label = c.Labels[i]
		}
		u.name(r)
	}
	at := 0
	for i := range r.units {
		u := &r.units[i]
		n := cap(u.uses[0].ids) - u.coded - 1
		u.pieces = r.pieces[at : at+n]
		at += n
	}
	r.after = make([]uint64, 0, 2*len(r.pieces)+len(r.units)+1)
}

// name describes what is done with a unit.
func (u *unit) name(r *Ring) {
	cost := uint64(u.label.Bytes)
	u.read = lane.Task{QueuedTask: lane.QueuedTask{Queue: lane.SSDPrefetch, Kind: lane.IOTask, Name: "prefetch:" + u.label.Name, Cost: cost}, Tensor: u.label.Name, Work: (*reads)(r)}
	u.decode = lane.Task{QueuedTask: lane.QueuedTask{Kind: lane.TransferTask, Name: "decode:" + u.label.Name, Cost: cost}, Tensor: u.label.Name, Work: (*decodes)(r)}
	u.align = lane.Task{QueuedTask: lane.QueuedTask{Kind: lane.TransferTask, Name: "align:" + u.label.Name, Cost: cost}, Tensor: u.label.Name, Bytes: cost, Work: (*aligns)(r)}
	u.compute = lane.Task{QueuedTask: lane.QueuedTask{Name: "compute:" + u.label.Name, Cost: cost}, Tensor: u.label.Name, Bytes: cost}
	u.wait = lane.Task{QueuedTask: lane.QueuedTask{Name: "wait:" + u.label.Name}, Part: true, Idle: true}
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

// Begin starts a pass. It fails with [fault.ErrChanged] if a file has changed. To end
// the pass early, set stop, if it is not nil, and call [Ring.Wake].
func (r *Ring) Begin(stop *atomic.Bool) error {
	for _, f := range r.files {
		if err := f.Same(); err != nil {
			return err
		}
	}
	if err := r.restart(stop); err != nil {
		return err
	}
	r.submit()
	return nil
}

// restart begins a pass, after the tasks of one that was abandoned have ended:
// reads still in flight could overwrite the memory of this pass.
func (r *Ring) restart(stop *atomic.Bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop, r.begun = stop, time.Now()
	if r.fail != nil || r.halted {
		r.halted = true
		for r.open > 0 {
			if err := r.ended(); err != nil {
				return err
			}
			r.ready.Wait()
		}
		r.base += uint64(len(r.units))
		r.issue, r.released, r.strays = r.base, r.base, 0
		clear(r.loaded) // units read ahead for this pass are read again
		r.fail, r.halted = nil, false
	}
	return r.ended()
}

// End ends a pass and releases all units. If ok is false, it discards what was
// read ahead.
func (r *Ring) End(ok bool) {
	r.endUse()
	r.mu.Lock()
	if !ok {
		r.halted = true
		r.mu.Unlock()
		return
	}
	r.base += uint64(len(r.units))
	r.stats.Passes++
	wall := time.Since(r.begun)
	if r.stats.Wall += wall; r.stats.Passes == 1 {
		r.stats.First = wall
	}
	r.release(r.base)
	r.mu.Unlock()
	r.submit()
}

// Acquire waits until a unit is in memory and pins it until it is released. It
// releases all earlier units, so a pass may skip some.
func (r *Ring) Acquire(unit int) error {
	r.endUse()
	u := &r.units[unit]
	r.mu.Lock()
	use := r.base + uint64(unit)
	r.release(use)
	hit := r.loaded[unit] == use+1
	if hit {
		r.stats.Hits++
	}
	r.mu.Unlock()
	r.submit()
	if !hit {
		id := r.lanes.Enter(&u.wait)
		err := r.await(unit, use)
		r.lanes.Leave(id, &u.wait, err)
		if err != nil {
			return err
		}
	}
	r.using, r.id = unit+1, r.lanes.Enter(&u.compute)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended()
}

// await waits until a use is loaded.
func (r *Ring) await(unit int, use uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := time.Now()
	for r.loaded[unit] != use+1 {
		if err := r.ended(); err != nil {
			return err
		}
		if r.fail != nil {
			return r.fail
		}
		if r.due() { // the unit is still being read for an earlier use
			r.mu.Unlock()
			r.submit()
			r.mu.Lock()
			if r.due() {
				r.ready.Wait()
			}
			continue
		}
		r.ready.Wait()
	}
	r.stats.Late++
	r.stats.Stall += time.Since(start)
	return nil
}

// Release ends the use of a unit in this pass.
func (r *Ring) Release(unit int) {
	r.endUse()
	r.mu.Lock()
	r.release(r.base + uint64(unit) + 1)
	r.mu.Unlock()
	r.submit()
}

// endUse ends the current use of a unit, if any.
func (r *Ring) endUse() {
	if r.using > 0 {
		r.lanes.Leave(r.id, &r.units[r.using-1].compute, nil)
		r.using = 0
	}
}

// release ends all uses before one.
func (r *Ring) release(use uint64) {
	n := uint64(len(r.units))
	for ; r.released < use; r.released++ {
		if x := &r.units[r.released%n].uses[r.released/n%2]; x.left > 0 && x.number == r.released {
			r.strays++
		}
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

// SetReaders bounds the reads in flight from the next one on, see
// [lane.Executor.SetReaders].
func (r *Ring) SetReaders(n int) { r.lanes.SetReaders(n) }

// Readers returns how many reads may be in flight at most.
func (r *Ring) Readers() int { return r.lanes.Readers() }

// Wake makes a waiting pass check whether it should stop.
func (r *Ring) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready.Broadcast()
}

// Close ends the reads and frees the memory. No unit may be in use. It may be
// called more than once.
func (r *Ring) Close() {
	r.mu.Lock()
	r.closed = true
	r.ready.Broadcast()
	r.mu.Unlock()
	r.gone.Do(func() {
		r.tasks.Close()
		if r.own {
			r.lanes.Close()
		}
		r.staging.close()
		r.block.Release()
	})
}
