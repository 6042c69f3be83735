package rule

import "atenia/grad"

// Float is an element type: float32 to run and train, float64 to check
// gradients.
type Float interface{ float32 | float64 }

// Tokens are the inputs of a rule for one chunk, or their adjoints.
type Tokens[F Float] struct {
	T    int
	K, Q []F        // [T, DK], normalized rows
	V    []F        // [T, D]
	Code []F        // [T, Code]
	Gate [gates][]F // [T] each; nil for gates that the rule does not have
}

// row returns key, value and query of token t, each n wide.
func (in *Tokens[F]) row(t, n int) (k, v, q []F) {
	return in.K[t*n:][:n], in.V[t*n:][:n], in.Q[t*n:][:n]
}

// A Rule is the recurrence of one memory over the tokens of a chunk. It owns
// scratch memory, so it belongs to one goroutine at a time. States are flat
// vectors in the order of [Layout.State].
type Rule[F Float] interface {
	// InitState sets a state to its value before the first token of a document.
	InitState(s []F, r *Rand)

	// CacheLens appends the lengths of the arrays that Forward leaves for
	// Backward; without keep they are as short as Forward alone allows.
	CacheLens(dst []int, tokens int, keep bool) []int

	// Forward writes the outputs y [T, D] and the state after the chunk.
	Forward(w *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F)

	// Backward computes the adjoints of in, stored in g, from those of y and,
	// unless dsT is nil, of the final state. It adds the adjoint of the initial
	// state to ds0 unless that is nil.
	Backward(w *grad.Work[F], in *Tokens[F], s0 []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F)

	// Read answers each row of q from the state.
	Read(w *grad.Work[F], s, q, y []F)

	// ReadBack computes the adjoint of q from that of the answers.
	ReadBack(w *grad.Work[F], s, q, dy, dq []F)
}

// newRule returns the arithmetic of a layout.
func newRule[F Float](l *Layout) Rule[F] {
	switch l.Rule {
	case Delta, Titans, Hebbian:
		return newLinear[F](l)
	case Moneta:
		return newMoneta[F](l)
	case YAAD:
		return newYAAD[F](l)
	case MEMORA:
		return newMEMORA[F](l)
	case Lattice:
		return newLattice[F](l)
	case Trellis:
		return newTrellis[F](l)
	}
	return newAtlas[F](l)
}

// A history is an array of steps of equal size: all of them if Backward
// follows, else as many as the recurrence needs.
type history[F Float] struct {
	buf  []F
	size int
}

func newHistory[F Float](buf []F, size int) history[F] { return history[F]{buf, size} }

// at returns step i.
func (h history[F]) at(i int) []F {
	n := max(1, len(h.buf)/h.size)
	i %= n
	return h.buf[i*h.size:][:h.size:h.size]
}

// kept returns the number of steps in a history: all, or some without keep.
func kept(keep bool, all, some int) int {
	if keep {
		return all
	}
	return min(all, some)
}

// carve cuts the next n elements off a buffer.
func carve[F Float](buf *[]F, n int) []F {
	part := (*buf)[:n:n]
	*buf = (*buf)[n:]
	return part
}

// grow returns a buffer of n elements: the given one if it is large enough.
func grow[F Float](buf []F, n int) []F {
	if cap(buf) < n {
		return make([]F, n)
	}
	return buf[:n]
}

// start returns the initial value of the state's adjoint in Backward: a copy of
// ds, or zeros.
func start[F Float](buf, ds []F, n int) []F {
	buf = grow(buf, n)
	if ds != nil {
		copy(buf, ds)
	} else {
		clear(buf)
	}
	return buf
}

// tiny is the magnitude below which a state is flushed to zero: decaying
// products would otherwise end in denormals, which are fifty times slower.
const tiny = 1e-30

// flush zeroes tiny elements of a state.
func flush[F Float](s []F) {
	for i, v := range s {
		if max(v, -v) < tiny { // max instead of a branch on the sign, which would be mispredicted
			s[i] = 0
		}
	}
}
