package kv

import (
	"math"
	"slices"
)

// A Seq is what one sequence remembers in one cache: positions Oldest to
// Len−1, in pages that it may share with its forks. Get one from
// [Cache.NewSeq] or [Seq.Fork] and give it back with [Seq.Release].
type Seq struct {
	c        *Cache
	len      int      // positions, those behind the window included
	first    int      // pages before this one fell behind the window
	table    []pageID // [ceil(len/PageTokens)]; noPage before first
	views    [][]byte // [len(table)] the bytes of each page; nil before first
	released bool
}

// NewSeq returns an empty sequence.
func (c *Cache) NewSeq() *Seq {
	c.seqs++
	return &Seq{c: c}
}

// Len returns the number of positions, those behind the window included: the
// next one that Extend opens.
func (s *Seq) Len() int { return s.len }

// Oldest returns the first position whose bytes are kept; without a window
// always 0.
func (s *Seq) Oldest() int { return min(s.first*s.c.cfg.PageTokens, s.len) }

// Pages returns the bytes of every page: page p holds the positions from
// p·PageTokens on and is nil once it fell behind the window. The slice is
// valid until the next Extend, Truncate, SlideTo or Release of this sequence
// and must not be changed; see the package comment for what may be written to
// the pages.
func (s *Seq) Pages() [][]byte { return s.views }

// Reserve makes room in the block table for n positions in all, so that no
// Extend up to there allocates on Go's heap. It takes no pages.
func (s *Seq) Reserve(n int) {
	if more := s.pagesFor(n) - len(s.table); more > 0 {
		s.table = slices.Grow(s.table, more)
		s.views = slices.Grow(s.views, more)
	}
}

// Extend opens the positions Len to Len+n−1 for writing. It gets the pages
// they need and, if the last page is partly used and shared, its own copy of
// that. Nothing has changed when it fails: with a *[MemoryError] when the
// budget does not allow that many pages, a *[RangeError] when n is negative,
// [ErrReleased] or [ErrClosed].
func (s *Seq) Extend(n int) error {
	switch {
	case s.released:
		return ErrReleased
	case n < 0:
		return &RangeError{Op: "extend", Got: n, Min: 0, Max: math.MaxInt - s.len}
	case n == 0:
		return nil
	case n > math.MaxInt-s.len:
		return &MemoryError{Need: math.MaxInt64, Have: s.c.bytes(s.c.limit - s.c.carved + len(s.c.free))}
	}
	pages := s.pagesFor(s.len+n) - len(s.table)
	last := len(s.table) - 1
	partial := s.len%s.c.cfg.PageTokens != 0
	copied := partial && s.c.refs[s.table[last]-1] > 1
	need := pages
	if copied {
		need++
	}
	if err := s.c.ensure(need); err != nil {
		return err
	}
	if copied {
		shared := s.table[last]
		own := s.c.take(false)
		s.table[last], s.views[last] = own, s.c.page(own)
		copy(s.views[last], s.c.page(shared))
		s.c.drop(shared)
	}
	for range pages {
		id := s.c.take(s.c.cfg.Zero)
		s.table = append(s.table, id)
		s.views = append(s.views, s.c.page(id))
	}
	s.len += n
	return nil
}

// Truncate forgets the positions from n on. Pages that hold none before n are
// given back; the bytes of forgotten positions in the page that stays are
// left as they are. If n is not [Seq.Resumable] it returns a *[RangeError]
// and changes nothing.
func (s *Seq) Truncate(n int) error {
	if s.released {
		return ErrReleased
	}
	if !s.Resumable(n) {
		return &RangeError{Op: "truncate", Got: n, Min: s.oldestResumable(), Max: s.len}
	}
	keep := s.pagesFor(n)
	for p := max(keep, s.first); p < len(s.table); p++ {
		s.c.drop(s.table[p])
	}
	s.cut(keep)
	s.first = min(s.first, keep)
	s.len = n
	return nil
}

// Resumable reports whether the sequence can be continued at position n as if
// it had ended there: whether all that a query at n sees is still held.
// Position 0 sees nothing and always is, up to Len all are without a window,
// and with one those whose window has not begun to fall away.
func (s *Seq) Resumable(n int) bool {
	return n == 0 || n <= s.len && n >= s.oldestResumable()
}

// oldestResumable returns the first position > 0 that is resumable, or 0 if
// all are.
func (s *Seq) oldestResumable() int {
	if s.first == 0 {
		return 0
	}
	return s.Oldest() + s.c.cfg.Window - 1
}

// SlideTo gives back the pages that no query at position pos or later sees,
// which is those wholly before pos−Window+1. Positions beyond Len count as
// Len. Without a window it does nothing.
func (s *Seq) SlideTo(pos int) {
	if s.c.cfg.Window == 0 || s.released {
		return
	}
	seen := max(min(pos, s.len), 0) - s.c.cfg.Window + 1
	for s.first < seen/s.c.cfg.PageTokens {
		s.c.drop(s.table[s.first])
		s.table[s.first], s.views[s.first] = noPage, nil
		s.first++
	}
}

// Fork returns a sequence with the same positions, in the same pages. From
// now on neither may write the positions both have; the first to Extend into
// a page that both use gets a copy. A fork of a released sequence is released.
func (s *Seq) Fork() *Seq {
	if s.released {
		return &Seq{c: s.c, released: true}
	}
	f := s.c.NewSeq()
	f.len, f.first = s.len, s.first
	f.table = slices.Clone(s.table)
	f.views = slices.Clone(s.views)
	for _, id := range f.table[f.first:] {
		s.c.share(id)
	}
	return f
}

// Release gives all pages back and ends the sequence. Calling it again does
// nothing.
func (s *Seq) Release() {
	if s.released {
		return
	}
	for _, id := range s.table[s.first:] {
		s.c.drop(id)
	}
	s.cut(0)
	s.len, s.first, s.released = 0, 0, true
	s.c.seqs--
}

// cut shortens the table to n pages and leaves no stale views behind.
func (s *Seq) cut(n int) {
	clear(s.views[n:])
	s.table, s.views = s.table[:n], s.views[:n]
}

// pagesFor returns how many pages n positions take.
func (s *Seq) pagesFor(n int) int {
	if n <= 0 {
		return 0
	}
	return (n-1)/s.c.cfg.PageTokens + 1
}
