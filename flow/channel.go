package flow

import (
	"atenia/flow/graph"
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
	rows   int
	frames int   // of a whole block
	most   int   // the ring held at the end of a block, in the rehearsal
	ring   []F   // [rows, size]; frame f of the stream lies at f & (size-1)
	size   int   // a power of two; 0 when nobody reads
	wrote  int64 // frames written in all
	made   int64 // frames that came out of the node; more than wrote by what was trimmed

	readers []*reader[F]
	kept    bool // in the static path some reader takes from the ring
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
	return len(c.readers) == 0 || c.wrote+int64(n)-c.oldest() <= int64(c.size)
}

// move takes what lies in the ring to a larger one.
func (c *channel[F]) move(ring []F, size int) {
	old := *c
	c.ring, c.size = ring, size
	for f := max(0, c.wrote-int64(old.size)); f < c.wrote; f++ {
		for r := range c.rows {
			c.ring[r*size+int(f)&(size-1)] = old.ring[r*old.size+int(f)&(old.size-1)]
		}
	}
}

// store appends frames [skip, n) of the rows of block to the ring; rows of
// block lie stride apart.
func (c *channel[F]) store(skip, n, stride int) {
	if c.size > 0 {
		at := int(c.wrote) & (c.size - 1)
		for r := range c.rows {
			x, y := c.block.Data[r*stride+skip:r*stride+n], c.ring[r*c.size:(r+1)*c.size]
			k := copy(y[at:], x)
			copy(y, x[k:])
		}
	}
	c.wrote += int64(n - skip)
}

// silence makes zeros of the last n frames in the ring.
func (c *channel[F]) silence(n int) {
	for f := max(0, c.wrote-int64(min(n, c.size))); f < c.wrote; f++ {
		for r := range c.rows {
			c.ring[r*c.size+int(f)&(c.size-1)] = 0
		}
	}
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
	c := r.from
	at := r.cursor - r.prefill
	zeros := int(min(max(-at, 0), int64(n)))
	r.cursor += int64(n)
	from := int(at+int64(zeros)) & (c.size - 1)
	for row := range c.rows {
		y, x := dst[row*stride:row*stride+n], c.ring[row*c.size:(row+1)*c.size]
		clear(y[:zeros])
		k := copy(y[zeros:], x[from:])
		copy(y[zeros+k:], x)
	}
}
