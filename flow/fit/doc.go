// Package fit trains flow graphs by exact gradients: it optimizes the parameters
// of a graph, and makes a graph one operation of a gradient tape.
//
//	parameters ──▶ graph ──▶ probes' streams ──▶ Loss ──▶ a number
//	     ▲                                          │
//	     │                                          │ derivatives by every frame
//	     └── Adam ◀── gradients of parameters ◀── backward sweep of the whole stream
//
// A [Problem] is a plan, streams for its inputs, a [Loss] and the free
// parameters, which form one vector. A parameter that must stay positive, such
// as a frequency, is optimized by its logarithm, so that a step is a ratio
// ([Param] Positive). [Fit] minimizes the loss with Adam, and [Problem.Check]
// compares every derivative with a central difference.
//
// # Segments
//
// A [Segment] embeds a dataflow graph in a gradient tape: a graph with its
// inputs, probes and some of its parameters becomes one operation, so that
// filters and matrices are trained together.
//
//	seg, err := fit.NewSegment[float64](plan, fit.SegmentConfig{Params: []string{"eq.f0"}})
//	var reg grad.Registry[float64]
//	fit.RegisterSegment(&reg)
//	t := grad.New(&reg)
//	y, err := seg.Apply(t, []grad.Ref{x}, []grad.Ref{f0})
//
//	tape     x ──▶ matmul ──▶ ┌ segment ──────────────┐ ──▶ … ──▶ loss
//	         f0 ─────────────▶│ Input ▶ eq ▶ Probe    │
//	                          └ a flow.Session        ┘
//	backward     ◀──────────── a sweep over the stream ◀────
//
// An operation runs whole streams, from rest to the end of the stream, and
// records the forward calls. When the tape reaches it on the way back, the
// gradients of its outputs seed a sweep, and the resulting gradients of inputs
// and parameters are accumulated on the tape. Several operations may be on
// tapes at a time: each has its own session, which is reused after its backward
// pass.
package fit
