package adjoint

import "atenia/flow/node"

// A reverse is a channel run backwards: the gradient of the frames that one
// reader of an output has gone back over and the writer has not. Positions
// count as in the forward channel, prefill included; they only go down. It
// never holds more frames than the forward channel did.
type reverse[F node.Float] struct {
	data   []F // rows of size frames; position p of row r at r*size + p mod size
	rows   int
	size   int64 // a power of two
	lo, hi int64 // positions held
	used   bool  // anything was pushed
}

// push stores the gradient g of positions [at, at+g.N), which end where the
// last push began.
func (r *reverse[F]) push(g *node.Tensor[F], at int64) {
	if !r.used {
		r.hi, r.used = at+int64(g.N), true
	}
	r.lo = at
	r.grow(r.hi - r.lo)
	for row := range r.rows {
		ring, src := r.data[int64(row)*r.size:][:r.size], g.Row(row)
		n := copy(ring[at&(r.size-1):], src)
		copy(ring, src[n:])
	}
}

// grow makes room for n frames.
func (r *reverse[F]) grow(n int64) {
	if n <= r.size {
		return
	}
	size := max(r.size, 64)
	for size < n {
		size *= 2
	}
	data := make([]F, int64(r.rows)*size)
	for row := range r.rows {
		for p := r.hi - r.size; p < r.hi && r.size > 0; p++ {
			data[int64(row)*size+p&(size-1)] = r.data[int64(row)*r.size+p&(r.size-1)]
		}
	}
	r.data, r.size = data, size
}

// pop adds the gradient of the positions from at on to frames [skip, g.N) of g
// and lets them go. What was never pushed, because the reader never got there,
// is zero.
func (r *reverse[F]) pop(g *node.Tensor[F], skip int, at int64) {
	from, to := max(at, r.lo), min(at+int64(g.N-skip), r.hi)
	if r.used && from < to {
		n, off := int(to-from), skip+int(from-at)
		for row := range r.rows {
			ring, dst := r.data[int64(row)*r.size:][:r.size], g.Row(row)[off:off+n]
			first := ring[from&(r.size-1):]
			first = first[:min(len(first), n)]
			for i, x := range first {
				dst[i] += x
			}
			rest := dst[len(first):]
			for i, x := range ring[:len(rest)] {
				rest[i] += x
			}
		}
	}
	r.drop(at)
}

// drop lets the positions from at on go.
func (r *reverse[F]) drop(at int64) { r.hi = min(r.hi, max(at, r.lo)) }
