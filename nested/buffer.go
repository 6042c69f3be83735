package nested

import "math"

// An errorBuffer collects the parameter gradients of a level over the steps
// in which it is frozen, until its next active step takes them in. Gradients
// of frozen steps are of the queries alone; nothing else of a frozen level has
// any.
type errorBuffer[F Float] struct {
	sum   []F
	steps int // how many are in it
}

// settle is what one step does with a level's gradient g: an active level
// takes what the buffer holds, a frozen level gives g to the buffer. So the sum
// of all gradients that reach the optimiser is that of all that were found.
func (b *errorBuffer[F]) settle(g []F, active bool, fold Fold) {
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

// length is the Euclidean norm of a gradient.
func length[F Float](g []F) float64 {
	var s float64
	for _, v := range g {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
