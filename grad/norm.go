package grad

import (
	"math"

	"atenia/internal/machine/pool"
)

// A Norm computes norms of gradients. [NewNorm] makes one. It keeps scratch memory, so that
// computing one allocates nothing. It may be used by one goroutine at a time.
type Norm[F Float] struct {
	pool *pool.Pool
	sums []float64 // one per grain
	g    []F
}

// NewNorm returns a Norm that computes with the given threads.
func NewNorm[F Float](t *Threads) *Norm[F] {
	return &Norm[F]{pool: t.innerOrOne()}
}

// Of returns the Euclidean norm of all gradients of parameters that are not
// held. Sums are float64 in a fixed order: within pieces of a fixed size, piece
// by piece.
func (m *Norm[F]) Of(params []*Param[F]) float64 {
	var all float64
	for _, p := range params {
		if !p.Hold {
			all += m.Squares(p.Grad)
		}
	}
	return math.Sqrt(all)
}

// Squares returns the sum of the squares of one gradient. The square root of the
// sums of all parameters, added in their order, has the bits of [Norm.Of], so that
// gradients need not be in memory at the same time.
func (m *Norm[F]) Squares(g []F) (sum float64) {
	pieces := (len(g) + grain - 1) / grain
	if cap(m.sums) < pieces {
		m.sums = make([]float64, pieces)
	}
	m.sums, m.g = m.sums[:pieces], g
	m.pool.Range(len(g), grain, (*squareRange[F])(m))
	for _, s := range m.sums {
		sum += s
	}
	return sum
}

// A squareRange is a Norm as work on a range of elements.
type squareRange[F Float] Norm[F]

// Range adds squares; see [pool.Ranger].
func (m *squareRange[F]) Range(_, lo, hi int) {
	for ; lo < hi; lo += grain {
		// Four independent sums hide the latency of an addition.
		g := m.g[lo:min(lo+grain, hi)]
		var s [4]float64
		n := len(g) &^ 3
		for i := 0; i < n; i += 4 {
			q := g[i : i+4 : i+4]
			a, b, c, d := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
			s[0] += float64(a * a)
			s[1] += float64(b * b)
			s[2] += float64(c * c)
			s[3] += float64(d * d)
		}
		for _, x := range g[n:] {
			s[0] += float64(float64(x) * float64(x))
		}
		m.sums[lo/grain] = (s[0] + s[1]) + (s[2] + s[3])
	}
}

// ClipFactor returns the factor that limits gradients of the given norm to limit:
// min(1, limit ÷ (norm + 1e-6)), or 1 without a limit. Pass it as the scale of
// [Optimizer.Step]. If the norm is NaN, so is the factor.
func ClipFactor(norm, limit float64) float64 {
	if limit <= 0 {
		return 1
	}
	return min(1, limit/(norm+1e-6))
}
