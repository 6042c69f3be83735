package kv

import (
	"math"
	"slices"
)

// A Seq is the cache of one sequence: positions Oldest to Len−1, in pages that
// it may share with its forks. [Cache.NewSeq] and [Seq.Fork] create one;
// [Seq.Release] frees it.
type Seq struct {
	c        *Cache
	len      int      // positions, including those behind the window
	first    int      // pages before this one are behind the window
	table    []pageID // [ceil(len/PageTokens)]; noPage before first
	views    [][]byte // [len(table)] the bytes of each page; nil before first
	released bool
}

// NewSeq returns an empty sequence.
func (c *Cache) NewSeq() *Seq {
	c.seqs++
	return &Seq{c: c}
}

// Len returns the number of positions, including those behind the window: the
// next one that Extend opens.
func (s *Seq) Len() int { return s.len }

// Oldest returns the first position still in memory; without a window always 0.
func (s *Seq) Oldest() int { return min(s.first*s.c.cfg.PageTokens, s.len) }

// Pages returns the bytes of every page: page p holds the positions from
// p·PageTokens on and is nil if it is behind the window. The slice is read-only
// and valid until the next Extend, Truncate, SlideTo or Release of this
// sequence; the package comment says which positions may be written.
func (s *Seq) Pages() [][]byte { return s.views }

// Reserve sizes the block table for n positions in total, so that no Extend up
// to there allocates on Go's heap. It takes no pages.
func (s *Seq) Reserve(n int) {
	if more := s.pagesFor(n) - len(s.table); more > 0 {
		s.table = slices.Grow(s.table, more)
		s.views = slices.Grow(s.views, more)
	}
}

// Extend opens the positions Len to Len+n−1 for writing. It takes the pages they
// need and copies the last page if that is partly used and shared. If it fails,
// nothing has changed: a *[MemoryError] if the budget is exceeded, a
// *[rangeError] if n is negative, [errReleased] or [errClosed].
func (s *Seq) Extend(n int) error {
	switch {
	case s.released:
		return errReleased
	case n < 0:
		return &rangeError{Op: "extend", Got: n, Min: 0, Max: math.MaxInt - s.len}
	case n == 0:
		return nil
	case n > math.MaxInt-s.len:
		return &MemoryError{Need: math.MaxInt64, Have: s.c.bytes(s.c.limit - s.c.carved + s.c.gone + len(s.c.free))}
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

// Skip opens n positions without pages, before all others: they are behind the window of a
// sequence whose later pages are filled with what was kept of them. Without a window, or if
// n is not whole pages or the sequence has pages, it returns a *[rangeError].
func (s *Seq) Skip(n int) error {
	size := s.c.cfg.PageTokens
	switch {
	case s.released:
		return errReleased
	case s.c.cfg.Window == 0 || n < 0 || n%size != 0 || s.first*size != s.len:
		return &rangeError{Op: "skip", Got: n, Min: 0, Max: 0}
	}
	for range n / size {
		s.table, s.views = append(s.table, noPage), append(s.views, nil)
	}
	s.first, s.len = s.first+n/size, s.len+n
	return nil
}

// Truncate drops the positions from n on and frees pages that hold none before
// n; it does not clear the dropped positions in the last page. If n is not
// [Seq.Resumable] it returns a *[rangeError] and changes nothing.
func (s *Seq) Truncate(n int) error {
	if s.released {
		return errReleased
	}
	if !s.Resumable(n) {
		return &rangeError{Op: "truncate", Got: n, Min: s.oldestResumable(), Max: s.len}
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

// Resumable reports whether the sequence can be continued at position n as if it
// had ended there, that is, whether all positions that a query at n attends to
// are in memory. Position 0 always is; without a window all positions up to Len
// are.
func (s *Seq) Resumable(n int) bool {
	return n == 0 || n <= s.len && n >= s.oldestResumable()
}

// oldestResumable returns the first position > 0 that is resumable, or 0 if all
// are.
func (s *Seq) oldestResumable() int {
	if s.c.cfg.Fixed {
		return s.len
	}
	if s.first == 0 {
		return 0
	}
	return s.Oldest() + s.c.cfg.Window - 1
}

// SlideTo frees the pages that no query at position pos or later reads: those
// wholly before pos−Window+1. Positions beyond Len count as Len. Without a
// window it does nothing.
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

// Fork returns a sequence with the same positions, in the same pages. From now
// on neither may write the shared positions; the first to Extend into a shared
// page gets a copy. A fork of a released sequence is released.
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

// Release frees all pages and ends the sequence. It may be called more than
// once.
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

// cut shortens the table to n pages and clears the dropped views.
func (s *Seq) cut(n int) {
	clear(s.views[n:])
	s.table, s.views = s.table[:n], s.views[:n]
}

// pagesFor returns the number of pages for n positions.
func (s *Seq) pagesFor(n int) int {
	if n <= 0 {
		return 0
	}
	return (n-1)/s.c.cfg.PageTokens + 1
}
