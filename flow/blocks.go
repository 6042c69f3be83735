package flow

import "atenia/flow/node"

// cutBlock fills block b with the frames of stream x from frame at on. Past its end
// the stream continues with zeros.
func cutBlock[F node.Float](b, x *node.Tensor[F], at int) {
	n := b.N
	for r := range b.B * b.C {
		row := b.Data[r*n : (r+1)*n]
		k := 0
		if at < x.N {
			k = copy(row, x.Row(r)[at:])
		}
		clear(row[k:])
	}
}

// A blockTake concatenates blocks to a stream, in rows of room frames.
type blockTake[F node.Float] struct {
	all  node.Tensor[F]
	room int
}

// newBlockTake returns a take of blocks with b x c rows, with initial room for
// frames.
func newBlockTake[F node.Float](b, c, room int) *blockTake[F] {
	return &blockTake[F]{node.Tensor[F]{B: b, C: c, Data: make([]F, b*c*room)}, room}
}

// Add appends a block.
func (t *blockTake[F]) Add(x node.Tensor[F]) {
	a := &t.all
	if a.N+x.N > t.room {
		old, before := a.Data, t.room
		t.room = 2*t.room + x.N
		a.Data = make([]F, a.B*a.C*t.room)
		for r := range a.B * a.C {
			copy(a.Data[r*t.room:], old[r*before:][:a.N])
		}
	}
	for r := range a.B * a.C {
		copy(a.Data[r*t.room+a.N:], x.Row(r))
	}
	a.N += x.N
}

// Join returns the collected stream, with contiguous rows. No block may be
// added afterwards.
func (t *blockTake[F]) Join() node.Tensor[F] {
	a := t.all
	rows := a.B * a.C
	for r := range rows {
		copy(a.Data[r*a.N:(r+1)*a.N], a.Data[r*t.room:])
	}
	a.Data = a.Data[:rows*a.N]
	return a
}
