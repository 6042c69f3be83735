package flow

import (
	"slices"

	"atenia/flow/graph"

	"atenia/flow/node"
)

// A channel is the stream of one output: one writer, any number of readers with a cursor each.
//
//	block   what the writer's last call wrote, [B, C, n]: the tensor it writes to
//	ring    the most recent frames, [rows, size]: for readers that lag behind
//
// On the static path a direct reader, which takes each block as a whole right after it was written, reads block
// itself. If all readers are direct nothing is copied into the ring. If not, direct readers advance their cursors in
// every block like the others: the ring is as free as its oldest reader.
type channel[F node.Float] struct {
	name   string // node.port
	block  node.Tensor[F]
	frames int          // of a whole block
	now    []F          // replaces block.Data when a recorder redirected the last call's output; nil: not redirected
	peak   int          // largest number of frames in the ring at the end of a rehearsed block
	ring   frameRing[F] // empty without readers
	wrote  int64        // frames written in total
	since  int64        // the ring has no frame before it: those were lost before it grew
	made   int64        // frames the node produced; exceeds wrote by what was trimmed

	readers []*reader[F]
	kept    bool // on the static path some reader takes from the ring
}

// data is what the writer's last call wrote.
func (c *channel[F]) data() []F {
	if c.now != nil {
		return c.now
	}
	return c.block.Data
}

// redirectable reports whether all readers are direct, so that the writer's output may be placed in other memory for a
// block.
func (c *channel[F]) redirectable() bool {
	return !c.kept && !slices.ContainsFunc(c.readers, func(r *reader[F]) bool { return !r.direct || r.edge.Param >= 0 })
}

// oldest is the first frame in the ring that some reader still needs.
func (c *channel[F]) oldest() int64 {
	a := c.wrote
	for _, r := range c.readers {
		a = min(a, max(0, r.cursor-r.prefill))
	}
	return max(a, c.first())
}

// first is the first frame in the ring.
func (c *channel[F]) first() int64 { return max(c.since, c.wrote-int64(c.ring.Size)) }

// store appends frames [skip, n) of block's rows to the ring; rows of block are stride elements apart.
func (c *channel[F]) store(skip, n, stride int) {
	c.ring.Put(c.wrote, c.block.Data[skip:], n-skip, stride)
	c.wrote += int64(n - skip)
}

// A reader is one edge: a cursor into a channel, and the input buffer for the next call.
type reader[F node.Float] struct {
	edge          *graph.LinkedEdge
	from          *channel[F]
	hold, prefill int64
	cons          int   // frames per token
	cursor        int64 // frames consumed, including the prefill's zeros
	limit         int64 // frames that the channel may hold for this reader before its writer waits, 0: any number
	in            node.Tensor[F]
	direct        bool // on the static path: reads from.block
}

// readable is the number of frames that a cursor at c may read.
func (r *reader[F]) readable(c int64, draining bool) int64 {
	p := r.from.wrote
	if !draining {
		p = max(0, p-r.hold)
	}
	return r.prefill + p - c
}

// holds is the number of frames that the channel has for this reader, with those held back and the prefill's zeros.
func (r *reader[F]) holds() int64 { return r.prefill + r.from.wrote - r.cursor }

// lost is the number of frames that were overwritten, in real time, before the reader came for them.
func (r *reader[F]) lost() int64 { return max(0, r.from.first()-max(0, r.cursor-r.prefill)) }

// take moves the next n frames into dst, whose rows are stride elements apart: first the zeros of the prefill, then
// frames from the ring, or zeros for those that it does not have any more.
func (r *reader[F]) take(dst []F, n, stride int) {
	r.from.ring.Take(r.cursor-r.prefill, r.from.first(), dst, n, stride)
	r.cursor += int64(n)
}
