package flow

import (
	"slices"

	"atenia/flow/graph"
	"atenia/flow/internal/ring"
	"atenia/flow/node"
)

// A channel is the stream of one output: one writer, any number of readers with
// a cursor each.
//
//	block   what the writer's last call wrote, [B, C, n]: the tensor it writes to
//	ring    the last frames written, [rows, size]: for readers that lag behind
//
// In the static path a reader that takes each block as a whole, right after it
// was written, reads block itself; where there are no other readers nothing is
// copied into the ring.
type channel[F node.Float] struct {
	name   string // node.port
	block  node.Tensor[F]
	frames int          // of a whole block
	now    []F          // in place of block.Data: where a recorder had the last call write; nil: nowhere
	most   int          // the ring held at the end of a block, in the rehearsal
	ring   ring.Ring[F] // empty when nobody reads
	wrote  int64        // frames written in all
	made   int64        // frames that came out of the node; more than wrote by what was trimmed

	readers []*reader[F]
	kept    bool // in the static path some reader takes from the ring
}

// data is what the writer's last call wrote.
func (c *channel[F]) data() []F {
	if c.now != nil {
		return c.now
	}
	return c.block.Data
}

// moves reports whether all readers look where the writer wrote, wherever that
// is.
func (c *channel[F]) moves() bool {
	return !c.kept && !slices.ContainsFunc(c.readers, func(r *reader[F]) bool { return !r.whole || r.edge.Param >= 0 })
}

// oldest is the first frame that some reader may still ask for.
func (c *channel[F]) oldest() int64 {
	a := c.wrote
	for _, r := range c.readers {
		a = min(a, max(0, r.cursor-r.prefill))
	}
	return a
}

// fits reports whether n more frames overwrite none that a reader still wants.
func (c *channel[F]) fits(n int) bool {
	return len(c.readers) == 0 || c.wrote+int64(n)-c.oldest() <= int64(c.ring.Size)
}

// store appends frames [skip, n) of the rows of block to the ring; rows of
// block lie stride apart.
func (c *channel[F]) store(skip, n, stride int) {
	c.ring.Put(c.wrote, c.block.Data[skip:], n-skip, stride)
	c.wrote += int64(n - skip)
}

// A reader is one edge: a place in a channel, and the frames taken from there
// for the next call.
type reader[F node.Float] struct {
	edge          *graph.LinkedEdge
	from          *channel[F]
	hold, prefill int64
	cons          int   // frames a token
	cursor        int64 // frames consumed, the zeros of prefill included
	in            node.Tensor[F]
	whole         bool // in the static path: reads from.block
}

// readable is the number of frames that a cursor at c may read.
func (r *reader[F]) readable(c int64, draining bool) int64 {
	p := r.from.wrote
	if !draining {
		p = max(0, p-r.hold)
	}
	return r.prefill + p - c
}

// take moves the next n frames into dst, whose rows lie stride apart: first the
// zeros of prefill, then what is in the ring.
func (r *reader[F]) take(dst []F, n, stride int) {
	r.from.ring.Take(r.cursor-r.prefill, dst, n, stride)
	r.cursor += int64(n)
}
