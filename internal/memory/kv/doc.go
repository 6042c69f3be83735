// Package kv is the paged key/value cache.
//
//	Cache   equal pages within a budget, for one state group
//	Seq     the block table of one sequence: which page holds which positions
//
// A state group is a set of layers whose caches grow and shrink together, such
// as all full-attention layers. A page holds PageTokens positions of every layer
// in the group, so that one table serves them all. The package does not
// interpret the content of a page; for attention it is
//
//	 page of 16 tokens, L layers, K heads of dimension h
//	┌─ layer 0 ───────────────────────────┬─ layer 1 ──────┬ … ┬─ layer L−1 ┐
//	│ k: head 0    h columns of 16 tokens │ k …   v …      │   │            │
//	│    head K−1  h columns of 16 tokens │                │   │            │
//	│ v: head 0    16 rows of h columns   │                │   │            │
//	│    head K−1  16 rows of h columns   │                │   │            │
//	└─────────────────────────────────────┴────────────────┴───┴────────────┘
//	  [layer][k|v][head]; the page's start is 64-byte aligned
//
// The life of a sequence:
//
//	s := c.NewSeq()
//	s.Extend(7)      // positions 0…6 may be written, through s.Pages()
//	t := s.Fork()    // t reads the same 7 positions, in the same pages
//	t.Extend(1)      // first copies the shared last page for t
//	t.Truncate(5)    // t drops positions 5, 6, 7
//	s.SlideTo(900)   // with a window: frees pages that no query from 900 on reads
//	s.Release()
//
// # Copy on write
//
// A sequence may write the positions that an [Seq.Extend] opened, until it is
// forked; all other positions are read-only. Extend ends the sharing of pages:
// if the last page is only partly used and has other owners, it is copied. So a
// writable page has a single owner, and the branches of a fork never see each
// other's writes.
//
// # Fixed states
//
// A state that is not addressed by position, such as that of a recurrent layer,
// is a sequence of one page ([Config.Fixed]): zero when it begins, written in
// place by every step, copied by the first Extend after a fork, and resumable at
// its end and at 0 alone. A snapshot is a fork that nobody extends.
//
// # Memory
//
// Pages are carved from slabs that a cache allocates when its free list is empty
// and keeps until [Cache.Close]. Where the system allows it, slabs are outside
// Go's heap, so that gigabytes of them do not raise the garbage collector's heap
// target. An Extend over budget changes nothing and returns a *[MemoryError]
// that says how much is missing; the caller decides which sequence to evict.
//
// A Cache and its sequences must be used by one goroutine at a time. The bytes
// of pages may be accessed concurrently.
package kv
