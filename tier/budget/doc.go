// Package budget decides, before anything is loaded, in which memory each
// tensor of a model lives: by bytes, by how much a pass reads of each, and by
// what may be used of every memory.
//
//	Input    tensors in the order of their first use, budgets, reserves, pins, rates
//	Place    Input → Plan, or an error that says what the floor is
//	Plan     a tier and a rule for each tensor, the ring, predicted seconds
//	File     a plan as text that a person may edit, and [Reload] reads again
//	Compare  what was planned beside what was measured
//
// While everything fits, everything stays in RAM and nothing more is decided.
// Otherwise a model that is read from its start to its end for every token is
// the worst case of a cache that forgets what was used longest ago: it hits
// nothing. So a part is pinned, and the rest is streamed, always the same rest:
//
//	RAM   reserves │ kv, buffers, vectors │ pinned weights │ ring: 3 units
//	SSD                                     streamed weights ──read──▶ ring
//
// What is pinned is what saves most reading for each byte held: a weight that
// every pass reads before an expert that few tokens choose, and that before a
// table of which a token reads one row. Where that is equal, streamed tensors
// are spread evenly over the pass, so that one is read while what lies between
// two of them is computed. Tensors of one unit, those that one instruction
// reads, are streamed together, and the ring holds the largest three such parts:
// one that is computed with, one that is ready, one that is being read. A unit
// that would make the ring large is pinned first, which often saves more than
// it costs.
//
// A plan never needs more than its budget: what does not fit is streamed, and
// below the floor, where not even that works, [Place] fails with a
// [*FloorError]. It looks at no clock and at no machine; equal inputs give
// equal plans.
package budget
