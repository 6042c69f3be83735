package chunk

import "atenia/internal/kernel/dense"

// Span is the number of tokens of a [Delta] that are computed together. A longer one has
// fewer, larger products, more arithmetic inside of spans, and more memory in every state.
const Span = 32

// Keys are the keys of one key head in the span so far, a column each: [K, Span].
// Heads of values that share it share them.
type Keys[F dense.Float] []F

// A Head is the state of one head of values.
type Head[F dense.Float] struct {
	S []F // [K, V] at the beginning of the span
	U []F // [Span, V] of the tokens since
	G []F // [Span] sums of g since
}

// KeysLen and HeadLen are the sizes of a state.
func KeysLen(k int) int    { return k * Span }
func HeadLen(k, v int) int { return k*v + Span*v + Span }

// Cut divides memory of length [HeadLen].
func Cut[F dense.Float](all []F, k, v int) Head[F] {
	return Head[F]{S: all[:k*v], U: all[k*v:][:Span*v], G: all[k*v+Span*v:][:Span]}
}

// A Delta is the memory of one worker for heads of a gated delta rule.
type Delta[F dense.Float] struct {
	K, V int
	w    Work[F]
	dots []F // [2·Span, Span], of keys and queries with the span's keys
	read []F // [2·Span, V], what the memory answers to keys, less values, and to queries
	l    []F // [Span, Span], dots of keys times decays
	c    []F // [Span], −β
	all  sequence[F]
}

// NewDelta returns a worker's memory for heads of the given widths. Calls do not
// allocate once they have had their largest number of tokens.
func NewDelta[F dense.Float](k, v int) *Delta[F] {
	d := &Delta[F]{K: k, V: v, dots: make([]F, 2*Span*Span), read: make([]F, 2*Span*v), l: make([]F, Span*Span), c: make([]F, Span)}
	d.w.Room(Span, v)
	return d
}

// Look appends the keys of n tokens that follow t of the span to keys, and computes
// what the heads that share them need. kq is n keys, then n queries, [2·n, K].
func (d *Delta[F]) Look(keys Keys[F], kq []F, t, n int) {
	for c := range d.K {
		line := keys[c*Span+t:][:n]
		for i := range line {
			line[i] = kq[i*d.K+c]
		}
	}
	d.w.rows(part(d.dots, Span), part(kq, d.K), part(keys, Span), 2*n, d.K, Span)
}

// part is a matrix with rows of n values.
func part[F dense.Float](v []F, n int) dense.Part[F] { return dense.Part[F]{V: v, Stride: n} }

// Tokens are what one head reads of n tokens: rows of v are VStride apart, those of y
// YStep.
type Tokens[F dense.Float] struct {
	V, Y           []F
	VStride, YStep int
	G, Beta        []F // [n]
}

// Run computes n tokens that follow t of the span for one head, after
// [Delta.Look], and advances the state if the span ends with them.
func (d *Delta[F]) Run(h Head[F], keys Keys[F], kq []F, x *Tokens[F], t, n int) {
	v, w := d.V, &d.w
	m := memory[F]{K: d.K, V: v, S: h.S, Keys: part(keys, Span), U: h.U}
	m.Read(w, part(d.read, v), part(kq, d.K), 2*n)
	for i := range n {
		g := x.G[i]
		if t+i > 0 {
			g += h.G[t+i-1]
		}
		h.G[t+i] = g
	}
	decays(w, h.G[:t+n], t)
	for i := range n {
		dense.Mul(d.l[i*Span:][:t+i], w.decay[i*w.stride:][:t+i], d.dots[i*Span:][:t+i])
		p := d.read[i*v:][:v]
		dense.Scale(p, w.grown[i])
		dense.Axpy(p, -1, x.V[i*x.VStride:][:v])
		d.c[i] = -x.Beta[i]
	}
	w.Solve(d.system(&h, t, n))
	for i := range n {
		copy(x.Y[i*x.YStep:][:v], d.read[(n+i)*v:])
	}
	m.Outputs(w, part(x.Y, x.YStep), part(d.dots[n*Span:], Span), t, n)
	if t+n == Span {
		m.Advance(w, Span, n)
	}
}

func (d *Delta[F]) system(h *Head[F], t, n int) *System[F] {
	return &System[F]{At: t, N: n, Per: 1, V: d.V, L: part(d.l, Span), U: h.U, P: d.read, C: d.c}
}
