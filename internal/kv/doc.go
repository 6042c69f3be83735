// Package kv keeps what sequences remember, in pages.
//
//	Cache   equal pages within a budget, for one state group
//	Seq     the block table of one sequence: which page holds which positions
//
// A state group is the layers of a model whose memory grows and shrinks alike,
// all full-attention layers for one. A page holds PageTokens positions of every
// layer in the group, so that one table serves them all. What lies inside is
// the business of whoever writes it; for attention it is
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
//	t := s.Fork()    // t sees the same 7 positions, in the same pages
//	t.Extend(1)      // t gets its own copy of the shared last page first
//	t.Truncate(5)    // t forgets positions 5, 6, 7
//	s.SlideTo(900)   // with a window: pages no query from 900 on reads are freed
//	s.Release()
//
// # What may be written
//
// A sequence may write the positions that an [Seq.Extend] opened, until it is
// forked; all others it only reads. Extend is where pages stop being shared:
// when the last page is only partly used and has other owners, it is copied.
// So a page that can be written has one owner, and whatever a fork does, the
// other branch reads the bytes it wrote itself.
//
// # Memory
//
// Pages are carved from slabs that a cache asks for when the free list is
// empty and keeps until [Cache.Close]. The slabs are outside Go's heap where
// the system allows, so that gigabytes of them do not make the collector wait
// for as many gigabytes of garbage. An Extend that the budget does not allow
// changes nothing and returns a *[MemoryError] that says how much is missing;
// the caller decides which sequence to evict.
//
// A Cache and its sequences belong to one goroutine at a time. Reading and
// writing page bytes is not the cache's business and may happen on many.
package kv
