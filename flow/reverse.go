package flow

import "atenia/flow/node"

// A reverse is a channel run backward: it queues the gradient of the frames
// that one reader of an output has gone back over and the writer has not.
// Positions count as in the forward channel, including prefill, and only
// decrease. It never holds more frames than the forward channel did.
//
// Frames stay in the buffers in which the reader's calls wrote them. If writer
// and reader are cut alike, the usual case, the writer gets the buffer itself.
type reverse[F node.Float] struct {
	rows   int
	chunks []chunk[F] // from chunks[head] on, highest positions first
	head   int
	used   bool  // anything was pushed
	bytes  int64 // of all buffers
	free   [][]F
	spent  [][]F // buffers that the writer has gone over, see [reverse.settle]
}

// A chunk is the gradient of positions [at, at+N).
type chunk[F node.Float] struct {
	node.Tensor[F]
	at   int64
	lent bool // the buffer does not belong to the channel
}

// start empties the channel and keeps its buffers.
func (r *reverse[F]) start() {
	for i := r.head; i < len(r.chunks); i++ {
		r.release(&r.chunks[i])
	}
	r.chunks, r.head, r.used = r.chunks[:0], 0, false
	r.settle()
}

// release returns a chunk's buffer to the channel, if it is the channel's.
func (r *reverse[F]) release(c *chunk[F]) {
	if !c.lent {
		r.spent = append(r.spent, c.Data)
	}
	c.Data = nil
}

// settle lets the reader use buffers again that the writer has gone over. It is a call
// of its own because the writer may still read the last of them, on another thread.
func (r *reverse[F]) settle() {
	r.free = append(r.free, r.spent...)
	clear(r.spent)
	r.spent = r.spent[:0]
}

// buffer returns memory for n frames, to be written and pushed.
func (r *reverse[F]) buffer(n int) []F {
	size := r.rows * n
	for i := len(r.free) - 1; i >= 0; i-- {
		if b := r.free[i]; cap(b) >= size {
			r.free[i] = r.free[len(r.free)-1]
			r.free = r.free[:len(r.free)-1]
			return b[:size]
		}
	}
	r.bytes += int64(size)
	return make([]F, size)
}

// push queues the gradient of positions [at, at+g.N), which end where the last
// push began. Its buffer is from this channel, or lent: then it must stay
// unchanged until the writer has taken it.
func (r *reverse[F]) push(g node.Tensor[F], at int64, lent bool) {
	r.used = true
	if r.head > 16 && 2*r.head > len(r.chunks) {
		n := copy(r.chunks, r.chunks[r.head:])
		r.chunks, r.head = r.chunks[:n], 0
	}
	r.chunks = append(r.chunks, chunk[F]{g, at, lent})
}

// whole returns the buffer that holds exactly the positions [at, at+n), if
// there is one. It is valid until the next call of settle.
func (r *reverse[F]) whole(at int64, n int) ([]F, bool) {
	if r.head == len(r.chunks) {
		return nil, false
	}
	c := &r.chunks[r.head]
	return c.Data, c.at == at && c.N == n
}

// pop moves the gradient of the positions from at on to frames [skip, g.N) of
// g: stored if it is the first contribution, else added. Positions that were
// never pushed, because the reader never reached them, are zero.
func (r *reverse[F]) pop(g *node.Tensor[F], skip int, at int64, first bool) {
	end := at + int64(g.N-skip)
	for i := r.head; i < len(r.chunks); i++ {
		c := &r.chunks[i]
		from, to := max(at, c.at), min(end, c.at+int64(c.N))
		if from >= to {
			continue
		}
		n, src, dst := int(to-from), int(from-c.at), skip+int(from-at)
		for row := range r.rows {
			x, y := c.Row(row)[src:src+n], g.Row(row)[dst:dst+n]
			if first {
				copy(y, x)
				continue
			}
			for k, v := range x {
				y[k] += v
			}
		}
	}
	r.drop(at)
}

// drop discards the positions from at on.
func (r *reverse[F]) drop(at int64) {
	for r.head < len(r.chunks) && r.chunks[r.head].at >= at {
		r.release(&r.chunks[r.head])
		r.head++
	}
	if r.head == len(r.chunks) {
		r.chunks, r.head = r.chunks[:0], 0
	}
}
