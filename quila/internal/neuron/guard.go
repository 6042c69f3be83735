package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// limit is the largest ‖I − W_corr·W_pred‖₂ that training leaves: below one,
// stream D has a fixed point that its iterations approach.
const limit = .98

// Guard rescales W_corr of neurons whose ‖I − W_corr·W_pred‖₂ is over 0.98 by the
// largest factor that brings it to the limit, or else to its least. Call it
// after an optimizer step and before [Grid.Bind]. It returns how many neurons
// were over.
func (g *Grid[F]) Guard(w *weights.Set[F]) int {
	g.w = w
	g.over = size(g.over, g.c.N)
	g.each(jobGuard, nil, nil, nil, 0)
	count := 0
	for _, over := range g.over {
		if over {
			count++
		}
	}
	return count
}

// guard does it for one neuron.
func (g *Grid[F]) guard(l *lane[F], n int) {
	d := g.c.D
	corr := g.w.Rows("n.drc.corr", n)
	a := l.take(d * d)
	l.work.Mul(a, corr, g.w.Rows("n.drc.pred", n), d, d, d)
	scratch := l.take(2 * d)
	at := func(s float64) float64 { return distance(a, F(s), d, scratch) }
	g.over[n] = at(1) > limit
	if !g.over[n] {
		return
	}
	lo, hi := 0., 1. // the distance is convex in the factor: find its minimum
	for range 24 {
		x, y := lo+(hi-lo)/3, hi-(hi-lo)/3
		if at(x) < at(y) {
			hi = y
		} else {
			lo = x
		}
	}
	best := (lo + hi) / 2
	if at(best) < limit {
		lo, hi = best, 1
		for range 24 {
			if mid := (lo + hi) / 2; at(mid) <= limit {
				lo = mid
			} else {
				hi = mid
			}
		}
		best = lo
	}
	dense.Scale(corr, F(best))
}

// Distance estimates ‖I − W_corr·W_pred‖₂ of a neuron, from below.
func (g *Grid[F]) Distance(w *weights.Set[F], n int) float64 {
	d := g.c.D
	l := &g.lanes[0]
	l.reset()
	a := l.take(d * d)
	l.work.Mul(a, w.Rows("n.drc.corr", n), w.Rows("n.drc.pred", n), d, d, d)
	return distance(a, 1, d, l.take(2*d))
}

// distance is ‖I − s·A‖₂ by power iteration on (I−sA)ᵀ(I−sA).
func distance[F grad.Float](a []F, s F, d int, scratch []F) float64 {
	const iterations = 32
	x, y := scratch[:d], scratch[d:2*d]
	for i := range x { // a direction without symmetry
		x[i] = F(1 + math.Sin(float64(3*i+1)))
	}
	var length float64
	for range iterations {
		dense.Scale(x, F(1/float64(max(dense.Norm(x), tiny))))
		dense.MatVec(y, a, x)
		for i := range y {
			y[i] = x[i] - s*y[i]
		}
		length = float64(dense.Norm(y))
		dense.MatVecT(x, a, y)
		for i := range x {
			x[i] = y[i] - s*x[i]
		}
	}
	return length
}
