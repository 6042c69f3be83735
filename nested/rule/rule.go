package rule

import (
	"atenia/internal/dense"
)

// Float is an element type: float32 to run and train with, float64 to check.
type Float = dense.Float

// Tokens are a chunk as a rule sees it, or the adjoints of one.
type Tokens[F Float] struct {
	T    int
	K, Q []F        // [T, DK], normalised rows
	V    []F        // [T, D]
	Code []F        // [T, Code]
	Gate [gates][]F // [T] each; nil for gates that the rule has not
}

// row returns key, value and query of token t; keys are n wide, values too.
func (in *Tokens[F]) row(t, n int) (k, v, q []F) {
	return in.K[t*n:][:n], in.V[t*n:][:n], in.Q[t*n:][:n]
}

// A Rule is the recurrence of one memory over the tokens of a chunk. It owns
// scratch memory, so it belongs to one goroutine at a time. States are flat
// vectors in the order of [Layout.State].
type Rule[F Float] interface {
	// InitState fills a state as it is before the first token of a document.
	InitState(s []F, r *Rand)

	// CacheLens appends the lengths of the arrays that Forward leaves behind
	// for Backward; without keep they are as short as Forward alone needs.
	CacheLens(dst []int, tokens int, keep bool) []int

	// Forward writes the outputs y [T, D] and the state after the chunk.
	Forward(w *dense.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F)

	// Backward writes the adjoints of in to g, given those of y and, unless
	// dsT is nil, of the last state. It adds the adjoint of the first state to
	// ds0 unless that is nil.
	Backward(w *dense.Work[F], in *Tokens[F], s0 []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F)

	// Read writes what the state answers to each row of q.
	Read(w *dense.Work[F], s, q, y []F)

	// ReadBack writes the adjoint of q, given that of the answers.
	ReadBack(w *dense.Work[F], s, q, dy, dq []F)
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

// A history is an array of steps of one size: all of them where Backward
// follows, else as many as a recurrence needs.
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

// kept returns how many steps a history has: all, or without keep only some.
func kept(keep bool, all, some int) int {
	if keep {
		return all
	}
	return min(all, some)
}

// carve cuts the next n numbers off a buffer.
func carve[F Float](buf *[]F, n int) []F {
	part := (*buf)[:n:n]
	*buf = (*buf)[n:]
	return part
}

// grow returns a buffer of n numbers, the given one if it is large enough.
func grow[F Float](buf []F, n int) []F {
	if cap(buf) < n {
		return make([]F, n)
	}
	return buf[:n]
}

// start returns the adjoint of the last state as Backward begins with it: a
// copy of ds, or zeros.
func start[F Float](buf, ds []F, n int) []F {
	buf = grow(buf, n)
	if ds != nil {
		copy(buf, ds)
	} else {
		clear(buf)
	}
	return buf
}

// tiny is where a state counts as zero: decaying products would otherwise end
// in denormal numbers, which cost fifty times as much.
const tiny = 1e-30

// flush sets what is tiny in a state to zero.
func flush[F Float](s []F) {
	for i, v := range s {
		if max(v, -v) < tiny { // no branch that a sign could mislead
			s[i] = 0
		}
	}
}
