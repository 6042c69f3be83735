package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// A Buffer holds the partial states that the ports of a session leave for each
// other: one place a port, nothing learned. Who wants something collects
// it with weights of its own. The zero states of ports that have not written since
// the turn began take no part.
type Buffer[F grad.Float] struct {
	d       int
	states  []F
	written []bool
}

// NewBuffer makes the buffer of a session: places for the attention ports, the
// Generator and the Tool-Port.
func NewBuffer[F grad.Float](c *config.Config) *Buffer[F] {
	n := 2*c.Thinkers + 3
	return &Buffer[F]{c.D, make([]F, n*c.D), make([]bool, n)}
}

// Places is how many ports have a place.
func (b *Buffer[F]) Places() int { return len(b.written) }

// Write replaces a port's state, which is what its compression gave.
func (b *Buffer[F]) Write(port int, state []F) {
	copy(b.states[port*b.d:][:b.d], state)
	b.written[port] = true
}

// Clear forgets all states, at the end of a turn.
func (b *Buffer[F]) Clear() {
	clear(b.states)
	clear(b.written)
}

// A Collector has the weights by which a party reads a buffer.
type Collector[F grad.Float] struct {
	q, k, v            []F
	query, key, scores []F
}

// NewCollector makes the collector of a name, planner or contra.
func NewCollector[F grad.Float](set *weights.Set[F], name string) *Collector[F] {
	name = "agg." + name + "."
	return &Collector[F]{q: set.Of(name + "q"), k: set.Of(name + "k"), v: set.Of(name + "v")}
}

// Collect writes softmax(q·kᵀ ÷ √D)·v over the states of a buffer, q from the
// collector's own state, k and v from the buffer's, and returns the weights by
// place, which credit goes by. They are valid until the next call. An
// empty buffer gives zeros.
func (c *Collector[F]) Collect(dst []F, b *Buffer[F], state []F) []F {
	d := b.d
	query, key, scores := sized(&c.query, d), sized(&c.key, d), sized(&c.scores, len(b.written))
	dense.MatVec(query, c.q, state)
	dense.MatVecT(key, c.k, query) // (Kᵀq)·state, not q·(K·state)
	root, top := F(1/math.Sqrt(float64(d))), F(math.Inf(-1))
	for i, w := range b.written {
		scores[i] = F(math.Inf(-1))
		if w {
			scores[i] = dense.Dot(key, b.states[i*d:][:d]) * root
			top = max(top, scores[i])
		}
	}
	clear(dst)
	if math.IsInf(float64(top), -1) {
		clear(scores)
		return scores
	}
	dense.Softmax(scores, scores)
	clear(key)
	for i, w := range scores {
		dense.Axpy(key, w, b.states[i*d:][:d])
	}
	dense.MatVec(dst, c.v, key)
	return scores
}
