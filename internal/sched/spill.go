package sched

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// A spill is the pages of an idle sequence in a file.
type spill struct {
	file  *os.File // has no name any more
	done  int      // tokens
	pages []int    // of each state
	sums  []uint32 // of each page
	bytes int64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSpilled says that a spilled page is not what was written.
var errSpilled = errors.New("a page of an idle sequence is not what was written")

// An Idle sequence was left by a request for later ones with the same prefix.
type Idle struct {
	Slot    int   // names it while it is idle
	Bytes   int64 // of its pages
	Spilled bool  // they are in a file
}

// Idle appends the idle sequences that have pages.
func (p *Pause) Idle(to []Idle) []Idle {
	for _, sl := range p.s.slots {
		if !sl.idle() {
			continue
		}
		switch {
		case sl.spill != nil:
			to = append(to, Idle{sl.id, sl.spill.bytes, true})
		case sl.whole():
			to = append(to, Idle{sl.id, sl.pageBytes(), false})
		}
	}
	return to
}

func (p *Pause) slot(id int) *slot {
	for _, sl := range p.s.slots {
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
	if sl == nil || sl.spill != nil || !sl.whole() {
		return fmt.Errorf("sched: sequence %d is in use or has no pages to write", slot)
	}
	p.s.endTransfers()
	p.s.dropKept() // they cost less than what a slot has
	x, err := sl.write(dir)
	if err != nil {
		return err
	}
	sl.clear()
	sl.spill = x
	for _, pool := range p.s.pools {
		c := pool.Cache()
		c.Trim()
	}
	p.s.drafter.trim(p.s)
	p.s.count()
	return nil
}

// Restore reads the pages of a spilled sequence back. If that fails, they are
// gone, and what they are needed for is computed again.
func (p *Pause) Restore(slot int) error {
	sl := p.slot(slot)
	if sl == nil || sl.spill == nil {
		return fmt.Errorf("sched: sequence %d is in use or was not written", slot)
	}
	err := sl.restore()
	p.s.count()
	return err
}

// whole reports whether a slot has all pages of its sequence, none of them
// behind a window.
func (sl *slot) whole() bool {
	for i, x := range sl.states {
		if sl.s.pools[i].Persistent() && (x.Len() < sl.done || x.Bound() && x.Seq().Oldest() > 0) {
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

// restore reads a slot's pages back and drops the file. If that fails, the slot
// has no pages.
func (sl *slot) restore() error {
	x := sl.spill
	sl.spill = nil
	err := sl.read(x)
	if err != nil {
		sl.clear()
	} else {
		sl.done = x.done
	}
	return errors.Join(err, x.file.Close())
}

func (sl *slot) read(x *spill) error {
	at, k := int64(0), 0
	for i, q := range sl.states {
		if !sl.s.pools[i].Persistent() {
			continue
		}
		if err := q.Extend(x.done); err != nil {
			return err
		}
		if len(q.Pages()) > x.pages[i] {
			return errSpilled
		}
		for _, page := range q.Pages() {
			if _, err := x.file.ReadAt(page, at); err != nil {
				return fmt.Errorf("%w: %w", errSpilled, err)
			}
			if crc32.Checksum(page, castagnoli) != x.sums[k] {
				return errSpilled
			}
			at, k = at+int64(len(page)), k+1
		}
		for range x.pages[i] - len(q.Pages()) { // pages that a step was given and did not write
			at, k = at+int64(q.Seq().PageBytes()), k+1
		}
	}
	return nil
}

// dropSpill forgets the pages that are in a file.
func (sl *slot) dropSpill() {
	if sl.spill != nil {
		sl.spill.file.Close() // a file without a name: nothing of it is needed
		sl.spill = nil
	}
}

// recall reads the pages of the spilled sequence back that shares the longest
// prefix with a request, if it is longer than those in memory.
func (s *Scheduler) recall(r *Request) {
	var best *slot
	most := 0
	for _, sl := range s.slots {
		n := sl.shares(r)
		if sl.spill != nil && sl.idle() {
			n = sl.sharesSpilled(r)
		}
		if n > most {
			best, most = sl, n
		}
	}
	if best != nil && best.spill != nil {
		_ = best.restore() // what cannot be read is computed again
	}
}

// sharesSpilled is shares as if the pages were in memory.
func (sl *slot) sharesSpilled(r *Request) int {
	if r.All || sl.s.scoped || sl.adapter != r.adapter() || sl.s.x.RopeClass(sl.span) != sl.s.x.RopeClass(r.span()) {
		return 0
	}
	n := commonPrefix(sl.tokens, r.Prompt, min(len(r.Prompt)-1, sl.spill.done))
	if sl.s.marking && n < sl.spill.done { // it continues where it ended, or not at all
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
