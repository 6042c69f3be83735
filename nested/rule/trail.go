package rule

// stride is the distance between states of a two-layer memory that are kept for
// Backward (checkpointing). Backward recomputes those between, bit for bit,
// from the vectors of each token. Keeping all would take the memory, and the
// time to write it, of as many states as there are tokens.
const stride = 4

// A trail holds the kept states of a chunk, and room for those of one stride.
type trail[F Float] struct {
	size  int
	marks history[F]
	room  []F
}

func newTrail[F Float](size int) trail[F] {
	return trail[F]{size: size, room: make([]F, (stride+1)*size)}
}

// len returns the length of a chunk's kept states.
func (r *trail[F]) len(tokens int, keep bool) int {
	return r.size * kept(keep, (tokens+stride-1)/stride, 1)
}

// begin sets the memory for the kept states.
func (r *trail[F]) begin(buf []F) { r.marks = newHistory(buf, r.size) }

// forward returns the state before token t, to be updated in place to that
// after it, while Forward runs; it keeps a copy when one is due.
func (r *trail[F]) forward(t int) []F {
	s := r.slot(0)
	if t%stride == 0 {
		copy(r.marks.at(t/stride), s)
	}
	return s
}

func (r *trail[F]) slot(i int) []F { return r.room[i*r.size:][:r.size:r.size] }

// around returns the states before and after token t, within the stride that
// [trail.enter] selected.
func (r *trail[F]) around(t int) (before, after []F) {
	return r.slot(t % stride), r.slot(t%stride + 1)
}

// enter selects the stride that ends before token hi and returns its first
// token; the caller recomputes the states after it.
func (r *trail[F]) enter(hi int) (lo int) {
	lo = (hi - 1) / stride * stride
	copy(r.slot(0), r.marks.at(lo/stride))
	return lo
}
