package flow

import "atenia/flow/node"

// A frameRing keeps the most recent frames of the rows of a stream. Frame f of
// a row is at index f mod Size, a power of two; the zero ring is empty.
//
//	Size = 8, after frame 9
//	┌───┬───┬───┬───┬───┬───┬───┬───┐
//	│ 8 │ 9 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │
//	└───┴───┴───┴───┴───┴───┴───┴───┘
//
// A ring does not count frames: readers and writers pass positions.
type frameRing[F node.Float] struct {
	Data []F // [Rows, Size]
	Rows int
	Size int
}

// ringRoom returns the size of a ring for at least frames frames.
func ringRoom(frames int) int {
	size := 1
	for size < frames {
		size *= 2
	}
	return size
}

// row returns one row of frames, and place the index of a frame in it.
func (r *frameRing[F]) row(i int) []F         { return r.Data[i*r.Size : (i+1)*r.Size] }
func (r *frameRing[F]) place(frame int64) int { return int(frame) & (r.Size - 1) }

// Move copies the frames before end to larger memory of the given size.
func (r *frameRing[F]) Move(data []F, size int, end int64) {
	old := *r
	r.Data, r.Size = data, size
	for f := max(0, end-int64(old.Size)); f < end; f++ {
		for i := range r.Rows {
			r.row(i)[r.place(f)] = old.row(i)[old.place(f)]
		}
	}
}

// Put writes n frames from at on. Rows of x are stride elements apart.
func (r *frameRing[F]) Put(at int64, x []F, n, stride int) {
	if r.Size == 0 {
		return
	}
	for i := range r.Rows {
		from, to := x[i*stride:i*stride+n], r.row(i)
		k := copy(to[r.place(at):], from)
		copy(to, from[k:])
	}
}

// Take reads n frames from at on; those before first are zeros. Rows of x are
// stride elements apart.
func (r *frameRing[F]) Take(at, first int64, x []F, n, stride int) {
	zeros := int(min(max(first-at, 0), int64(n)))
	for i := range r.Rows {
		to, from := x[i*stride:i*stride+n], r.row(i)
		clear(to[:zeros])
		k := copy(to[zeros:], from[r.place(at+int64(zeros)):])
		copy(to[zeros+k:], from)
	}
}

// Clear zeroes the n frames before end.
func (r *frameRing[F]) Clear(end int64, n int) {
	for f := max(0, end-int64(min(n, r.Size))); f < end; f++ {
		for i := range r.Rows {
			r.row(i)[r.place(f)] = 0
		}
	}
}
