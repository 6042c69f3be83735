package sched

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"
)

// A spill is the pages of an idle sequence in a file.
type spill struct {
	file interface { // has no name any more
		io.ReaderAt
		io.Closer
	}
	done  int      // tokens
	pages []int    // of each state
	sums  []uint32 // of each page
	bytes int64
	load  *transfer                           // reads them back; nil = does not, or its pages were wanted
	told  func(took time.Duration, err error) // of the end of reading, if not nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSpilled says that a spilled page is not what was written.
var errSpilled = errors.New("a page of an idle sequence is not what was written")

// An Idle sequence was left by a request for later ones with the same prefix.
type Idle struct {
	Slot    int   // names it while it is idle
	Bytes   int64 // of its pages
	Spilled bool  // they are in a file, and not being read back
}

// Idle appends the idle sequences that have pages.
func (p *Pause) Idle(to []Idle) []Idle {
	for _, sl := range p.s.admission.slots {
		if !sl.idle() {
			continue
		}
		switch {
		case sl.spill != nil:
			to = append(to, Idle{sl.id, sl.spill.bytes, !sl.spill.reading()})
		case sl.whole():
			to = append(to, Idle{sl.id, sl.pageBytes(), false})
		}
	}
	return to
}

func (p *Pause) slot(id int) *slot {
	for _, sl := range p.s.admission.slots {
		if sl.id == id && sl.idle() {
			return sl
		}
	}
	return nil
}

// Spill writes the pages of an idle sequence to a file in dir and frees their
// memory. If that fails, the sequence keeps them.
func (p *Pause) Spill(slot int, dir string) error {
	sl := p.slot(slot)
	if sl != nil && sl.spill != nil && sl.spill.reading() { // the file is still there
		p.s.abandonRestore(sl.spill)
		return nil
	}
	if sl == nil || sl.spill != nil || !sl.whole() {
		return fmt.Errorf("sched: sequence %d is in use or has no pages to write", slot)
	}
	p.s.endTransfers()
	p.s.kept.memory.clear() // they cost less than what a slot has
	x, err := sl.write(dir)
	if err != nil {
		return err
	}
	sl.clear()
	sl.spill = x
	for _, pool := range p.s.storage.pools {
		c := pool.Cache()
		c.Trim()
	}
	p.s.drafts.model.trim(p.s)
	p.s.countHeld()
	return nil
}

// Restore begins to read the pages of a spilled sequence back, beside the steps. told, if
// not nil, is called between two steps when they are there, unless the memory was wanted
// meanwhile. After an error they are gone, and what they are needed for is computed
// again.
func (p *Pause) Restore(slot int, told func(took time.Duration, err error)) error {
	sl := p.slot(slot)
	if sl == nil || sl.spill == nil {
		return fmt.Errorf("sched: sequence %d is in use or was not written", slot)
	}
	sl.spill.told = told
	err := sl.startRestore()
	p.s.countHeld()
	return err
}

// whole reports whether a slot has all pages of its sequence, none of them
// behind a window.
func (sl *slot) whole() bool {
	for i, x := range sl.states {
		if sl.s.storage.pools[i].Persistent() && (x.Len() < sl.done || x.Bound() && x.Seq().Oldest() > 0) {
			return false
		}
	}
	return sl.done > 0
}

func (sl *slot) pageBytes() (n int64) {
	for _, x := range sl.states {
		for _, page := range x.Pages() {
			n += int64(len(page))
		}
	}
	return n
}

// write makes a file of a slot's pages. It has no name, so that nothing is left
// of it when the process ends.
func (sl *slot) write(dir string) (_ *spill, err error) {
	f, err := os.CreateTemp(dir, "atenia-sequence-*")
	if err != nil {
		return nil, err
	}
	x := &spill{file: f, done: sl.done}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	for _, q := range sl.states {
		x.pages = append(x.pages, len(q.Pages()))
		for _, page := range q.Pages() {
			if _, err := f.WriteAt(page, x.bytes); err != nil {
				return nil, err
			}
			x.sums = append(x.sums, crc32.Checksum(page, castagnoli))
			x.bytes += int64(len(page))
		}
	}
	return x, nil
}

// reading reports whether the pages are being read back, or were and did not land.
func (x *spill) reading() bool { return x.load != nil && x.load.p != nil }

// startRestore begins to read a spilled slot's pages back, into pages of the caches, unless it
// has begun. Without memory for them the slot has none any more.
func (sl *slot) startRestore() error {
	x, s := sl.spill, sl.s
	if x.reading() {
		return nil
	}
	p, err := s.blank(sl.tokens[:x.done], sl.span)
	for old := s.kept.memory.oldest(); err != nil && old != nil; old = s.kept.memory.oldest() {
		s.record(old.memoryDecision(actionEvict, sl.by))
		s.kept.memory.drop(old)
		p, err = s.blank(sl.tokens[:x.done], sl.span)
	}
	if err != nil {
		sl.clear()
		return err
	}
	p.by, p.images, p.adapter = sl.by, sl.images, sl.adapter
	pages := make([][][]byte, len(p.states))
	for i, q := range p.states {
		if s.storage.pools[i].Persistent() {
			pages[i] = q.Pages()
		}
	}
	x.load = s.transfer(p, func(t *transfer) error { return x.read(t, pages) })
	s.kept.disk.moves = append(s.kept.disk.moves, x.load)
	return nil
}

// read reads the pages of every state and checks them.
func (x *spill) read(t *transfer, to [][][]byte) error {
	at, k := int64(0), 0
	for i, pages := range to {
		if len(pages) > x.pages[i] {
			return errSpilled
		}
		size := int64(0)
		for _, page := range pages {
			if t.stop.Load() {
				return errStopped
			}
			if _, err := x.file.ReadAt(page, at); err != nil {
				return fmt.Errorf("%w: %w", errSpilled, err)
			}
			if crc32.Checksum(page, castagnoli) != x.sums[k] {
				return errSpilled
			}
			size = int64(len(page))
			at, k = at+size, k+1
		}
		behind := x.pages[i] - len(pages) // that a step was given and did not write
		at, k = at+int64(behind)*size, k+behind
	}
	return nil
}

// finishRestores ends what was read back for slots, and what was left.
func (s *Scheduler) finishRestores() {
	for _, sl := range s.admission.slots {
		if x := sl.spill; x != nil && x.load != nil && x.load.ended() {
			sl.finishRestore()
		}
	}
	s.kept.disk.moves = slices.DeleteFunc(s.kept.disk.moves, func(t *transfer) bool {
		left := t.abandoned && t.ended()
		if left {
			t.free()
		}
		return left
	})
}

// finishRestore gives a slot the pages that were read back. If they could not be, it has
// none; if they were wanted meanwhile, they stay in the file.
func (sl *slot) finishRestore() {
	x, s := sl.spill, sl.s
	t := x.load
	x.load = nil
	s.kept.disk.moves = slices.DeleteFunc(s.kept.disk.moves, func(o *transfer) bool { return o == t })
	if t.p == nil || errors.Is(t.err, errStopped) {
		t.free()
		return
	}
	if t.err != nil {
		t.free()
		sl.clear()
	} else {
		p := t.p
		t.p = nil
		sl.adoptWhole(p)
		sl.images = p.images
	}
	s.countHeld()
	if x.told != nil {
		x.told(t.took, t.err)
	}
}

// abandonRestore gives up reading back, and does not wait until that has ended.
func (s *Scheduler) abandonRestore(x *spill) {
	if x.load != nil {
		x.load.stop.Store(true)
		x.load.abandoned = true
		x.load = nil
	}
}

// dropSpill forgets the pages that are in a file.
func (sl *slot) dropSpill() {
	if sl.spill != nil {
		sl.s.abandonRestore(sl.spill)
		sl.spill.file.Close() // a file without a name: nothing of it is needed
		sl.spill = nil
	}
}

// awaitsRestore reports whether a waiting request waits for the pages of the spilled sequence
// that shares the longest prefix with it, if it is longer than those in memory.
func (s *Scheduler) awaitsRestore(st *Stream) bool {
	for {
		best, most := (*slot)(nil), 0
		for _, sl := range s.admission.slots {
			n := sl.shares(&st.req)
			if sl.spill != nil && sl.idle() {
				n = sl.sharesSpilled(&st.req)
			}
			if n > most {
				best, most = sl, n
			}
		}
		if best == nil || best.spill == nil || best.startRestore() != nil { // what cannot be read is computed again
			return false
		}
		if st.load = best.spill.load; !st.load.ended() {
			return true
		}
		best.finishRestore()
	}
}

// sharesSpilled is shares as if the pages were in memory.
func (sl *slot) sharesSpilled(r *Request) int {
	if r.All || sl.s.storage.scoped || sl.adapter != r.adapter() || sl.s.x.RopeClass(sl.span) != sl.s.x.RopeClass(r.span()) {
		return 0
	}
	n := commonPrefix(sl.tokens, r.Prompt, min(len(r.Prompt)-1, sl.spill.done))
	if sl.s.storage.snapshots && n < sl.spill.done { // it continues where it ended, or not at all
		return 0
	}
	return n
}

// commonPrefix returns how many of the first most tokens are equal.
func commonPrefix(a, b []int32, most int) (n int) {
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
