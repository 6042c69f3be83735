package chunk

import "atenia/internal/kernel/dense"

// Span is the number of tokens that are computed together. A longer one has fewer,
// larger products, more arithmetic inside of spans, and more memory in every state.
const Span = 32

// chain is the length of the chains of additions in products of package dense.
const chain = 256

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

// A Work is the memory of one worker.
type Work[F dense.Float] struct {
	K, V  int
	w     *dense.Work[F]
	dots  []F // [2·Span, Span], of keys and queries with the span's keys
	read  []F // [2·Span, V], S0ᵀ of keys and queries
	decay []F // [Span, Span], e^(G_t−G_i)
	mix   []F // [Span·Span] weights of vectors u
	sum   []F // [max(V, Span)]
	u     []F // [Span, V]
}

// NewWork returns a worker's memory for heads of the given widths. Calls do not
// allocate once they have had their largest number of tokens.
func NewWork[F dense.Float](k, v int) *Work[F] {
	return &Work[F]{
		K: k, V: v, w: dense.New[F](nil),
		dots: make([]F, 2*Span*Span), read: make([]F, 2*Span*v), decay: make([]F, Span*Span),
		mix: make([]F, Span*Span), sum: make([]F, max(v, Span)), u: make([]F, Span*v),
	}
}

// Look appends the keys of n tokens that follow t of the span to keys, and computes
// what the heads that share them need. kq is n keys, then n queries, [2·n, K].
func (w *Work[F]) Look(keys Keys[F], kq []F, t, n int) {
	for i := range n {
		for c, x := range kq[i*w.K : (i+1)*w.K] {
			keys[c*Span+t+i] = x
		}
	}
	w.rows(w.dots, kq, keys, 2*n, w.K, Span)
}

// rows writes a·b, [m, k]·[k, n], with the additions of the product of many rows.
func (w *Work[F]) rows(dst, a, b []F, m, k, n int) {
	if m > 2 {
		w.w.Mul(dst, a, b, m, k, n)
		return
	}
	for i := range m {
		row := dst[i*n:][:n]
		clear(row)
		for c := 0; c < k; c += chain {
			d := min(chain, k-c)
			dense.AddMatVecT(row, b[c*n:(c+d)*n], a[i*k+c:i*k+c+d])
		}
	}
}

// Tokens are what one head reads of n tokens: rows of v and y are Stride apart.
type Tokens[F dense.Float] struct {
	V, Y           []F
	VStride, YStep int
	G, Beta        []F // [n]
}

// Run computes n tokens that follow t of the span for one head, after
// [Work.Look], and advances the state if the span ends with them.
func (w *Work[F]) Run(h Head[F], keys Keys[F], kq []F, x *Tokens[F], t, n int) {
	v := w.V
	w.rows(w.read, kq, h.S, 2*n, w.K, v)
	for i := range n {
		g := x.G[i]
		if t+i > 0 {
			g += h.G[t+i-1]
		}
		h.G[t+i] = g
	}
	for i := range n {
		w.solve(&h, x, t, i)
	}
	// y_t = e^G_t S0ᵀq_t + Σ e^(G_t−G_i) (k_i·q_t) u_i
	m := t + n
	for i := range n {
		row := w.mix[i*m:][:m]
		dense.Mul(row[:t+i+1], w.decay[i*Span:][:t+i+1], w.dots[(n+i)*Span:][:t+i+1])
		clear(row[t+i+1:])
	}
	out := w.u[:n*v]
	w.rows(out, w.mix[:n*m], h.U[:m*v], n, m, v)
	for i := range n {
		y := out[i*v:][:v]
		dense.Axpy(y, w.grown(h.G[t+i]), w.read[(n+i)*v:][:v])
		copy(x.Y[i*x.YStep:][:v], y)
	}
	if m == Span {
		w.advance(&h, keys)
	}
}

// grown returns e^g.
func (w *Work[F]) grown(g F) F {
	w.sum[0] = g
	dense.Exp(w.sum[:1], w.sum[:1])
	return w.sum[0]
}

// solve computes u of token t+i.
func (w *Work[F]) solve(h *Head[F], x *Tokens[F], t, i int) {
	v, at := w.V, t+i
	decay := w.decay[i*Span:][:at+1]
	for j := range decay {
		decay[j] = h.G[at] - h.G[j]
	}
	dense.Exp(decay, decay)
	a := w.grown(h.G[at])
	e := w.sum[:v]
	copy(e, w.read[i*v:][:v])
	dense.Scale(e, a)
	if at > 0 {
		l := w.mix[:at]
		dense.Mul(l, decay[:at], w.dots[i*Span:][:at])
		dense.AddMatVecT(e, h.U[:at*v], l)
	}
	u := h.U[at*v:][:v]
	copy(u, x.V[i*x.VStride:][:v])
	dense.Axpy(u, -1, e)
	dense.Scale(u, x.Beta[i])
}

// advance moves S to the end of the span.
func (w *Work[F]) advance(h *Head[F], keys Keys[F]) {
	v, last := w.V, h.G[Span-1]
	decay := w.decay[:Span]
	for j := range decay {
		decay[j] = last - h.G[j]
	}
	dense.Exp(decay, decay)
	for j, d := range decay {
		row := w.u[j*v:][:v]
		copy(row, h.U[j*v:][:v])
		dense.Scale(row, d)
	}
	dense.Scale(h.S, w.grown(last))
	w.w.AddMul(h.S, keys, w.u[:Span*v], w.K, Span, v)
}
