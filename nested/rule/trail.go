package rule

// stride is how many states of a memory with two layers lie between two that
// are kept for Backward, which computes those between again, bit for bit, from
// the vectors of each token. Keeping all would take the memory, and the time
// to write it, of as many states as there are tokens.
const stride = 4

// A trail is the kept states of a chunk, and room for those of one stride.
type trail[F Float] struct {
	size  int
	marks history[F]
	room  []F
}

func newTrail[F Float](size int) trail[F] {
	return trail[F]{size: size, room: make([]F, (stride+1)*size)}
}

// len is how many numbers the kept states of a chunk have.
func (r *trail[F]) len(tokens int, keep bool) int {
	return r.size * kept(keep, (tokens+stride-1)/stride, 1)
}

// begin takes the memory of the kept states.
func (r *trail[F]) begin(buf []F) { r.marks = newHistory(buf, r.size) }

// forward returns the state before token t, which becomes that after it, while
// Forward goes through the tokens; it keeps the state if it is one to keep.
func (r *trail[F]) forward(t int) []F {
	s := r.slot(0)
	if t%stride == 0 {
		copy(r.marks.at(t/stride), s)
	}
	return s
}

func (r *trail[F]) slot(i int) []F { return r.room[i*r.size:][:r.size:r.size] }

// around returns the states before and after token t of the stride that
// [trail.enter] entered.
func (r *trail[F]) around(t int) (before, after []F) {
	return r.slot(t % stride), r.slot(t%stride + 1)
}

// enter goes to the stride that ends before token hi and returns its first
// token; the caller computes the states after that again.
func (r *trail[F]) enter(hi int) (lo int) {
	lo = (hi - 1) / stride * stride
	copy(r.slot(0), r.marks.at(lo/stride))
	return lo
}
