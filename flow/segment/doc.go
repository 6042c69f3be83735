// Package segment puts a dataflow graph into a gradient tape: a graph with its
// inputs, probes and some of its parameters is one operation, so that filters
// and matrices are trained together.
//
//	seg, err := segment.New[float64](plan, segment.Config{Params: []string{"eq.f0"}})
//	var reg grad.Registry[float64]
//	segment.Register(&reg)
//	t := grad.New(&reg)
//	y, err := seg.Apply(t, []grad.Ref{x}, []grad.Ref{f0})
//
//	tape     x ──▶ matmul ──▶ ┌ segment ──────────────┐ ──▶ … ──▶ loss
//	         f0 ─────────────▶│ Input ▶ eq ▶ Probe    │
//	                          └ a flow.Session, whole ┘
//	backward     ◀────────────  streams there and back  ◀────
//
// An operation runs whole streams, from rest to the end of the stream, and
// keeps a record of the forward calls; when the tape goes back over it, the
// gradients of its outputs seed a sweep and what comes out at inputs and
// parameters is added to theirs. Several operations may be on the tapes at one
// time: each has a session of its own, used again once it was gone back over.
package segment
