// Package place decides, before anything is loaded, in which memory each tensor
// of a model lives: from its size, from the bytes that a pass reads of it, and
// from the budget of each memory.
//
//	Input      tensors in the order of their first use, budgets, reserves, pins, rates
//	Place      Input → Placement, or an error that states the floor
//	Placement  a tier and a rule for each tensor, the ring, predicted seconds
//	File       a placement as text that can be edited and read again by [Reload]
//	Compare    the placement beside the measurements
//
// If everything fits, everything stays in RAM. Otherwise some weights must be
// streamed, and a model that is read from start to end for every token is the
// worst case for an LRU cache: it never hits. So a fixed part is pinned and the
// rest, always the same tensors, is streamed:
//
//	RAM   reserves │ kv, buffers, vectors │ pinned weights │ ring: 3 units
//	SSD                                     streamed weights ──read──▶ ring
//
// Tensors are pinned by the reading they save for each byte held: a weight that
// every pass reads before an expert that few tokens choose, and that before a
// table of which a token reads one row. Among equals, streamed tensors are
// spread evenly over the pass, so that each is read while the layers before it
// are computed. The tensors of one unit, those that one instruction reads, are
// streamed together, and the ring has room for the three largest units: one in
// use, one ready, one being read. A unit that would enlarge the ring is pinned
// first, because that often saves more memory than it costs.
//
// The experts of a mixture share a cache that takes what RAM is left by what every
// pass reads. Its hit rate is assumed to be its share of all experts, as it is if
// they are chosen equally often.
//
// A placement never exceeds its budget: what does not fit is streamed, and below the
// floor, where not even streaming fits, [Place] returns a [*FloorError].
// Placing reads no clock and no machine state; equal inputs give equal
// placements.
//
// # Rates
//
// [MeasureRates] measures how fast this machine reads: files past the system's
// cache and memory, alone and both at once.
//
//	MeasureRates ──▶ Measurement   bytes a second of storage and of memory
//	DropCache                      takes a file out of the system's cache first
//	ReadRates ─────▶ KeptRates     what was measured of a storage device earlier
//	RememberRatio ─▶ RememberedRatios   how much longer runs took than predicted
package place
