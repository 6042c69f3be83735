package nested

import "math"

// An errorBuffer accumulates the parameter gradients of a level over the steps
// in which it is frozen, until its next active step consumes them. In frozen
// steps only the query projection has a gradient.
type errorBuffer[F Float] struct {
	sum   []F
	steps int // number of accumulated steps
}

// exchange moves a level's gradient g through the buffer: an active level takes
// what the buffer holds, a frozen level gives g to the buffer. The sum of all
// gradients that reach the optimizer thus equals the sum of all gradients
// computed.
func (b *errorBuffer[F]) exchange(g []F, active bool, fold Fold) {
	if !active {
		for i, v := range g {
			b.sum[i] += v
		}
		clear(g)
		b.steps++
		return
	}
	if b.steps == 0 {
		return
	}
	scale := F(1)
	if fold == FoldMean {
		scale = F(1 / float64(b.steps))
	}
	for i, v := range b.sum {
		g[i] += F(v * scale)
	}
	clear(b.sum)
	b.steps = 0
}

// length returns the Euclidean norm of a gradient.
func length[F Float](g []F) float64 {
	var s float64
	for _, v := range g {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
