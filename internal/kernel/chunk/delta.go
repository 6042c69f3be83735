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
	grown []F // [Span], e^G_t
	mix   []F // [Span·Span] weights of vectors u
	sum   []F // [max(V, Span)]
	u     []F // [Span, V]

	keys Keys[F] // of whole sequences, and what their gradients need
	kq   []F
	head Head[F]
	b    backward[F]
}

// NewWork returns a worker's memory for heads of the given widths. Calls do not
// allocate once they have had their largest number of tokens.
func NewWork[F dense.Float](k, v int) *Work[F] {
	return &Work[F]{
		K: k, V: v, w: dense.New[F](nil),
		dots: make([]F, 2*Span*Span), read: make([]F, 2*Span*v), decay: make([]F, Span*Span), grown: make([]F, Span),
		mix: make([]F, Span*Span), sum: make([]F, max(v, Span)), u: make([]F, Span*v),
	}
}

// Look appends the keys of n tokens that follow t of the span to keys, and computes
// what the heads that share them need. kq is n keys, then n queries, [2·n, K].
func (w *Work[F]) Look(keys Keys[F], kq []F, t, n int) {
	for c := range w.K {
		line := keys[c*Span+t:][:n]
		for i := range line {
			line[i] = kq[i*w.K+c]
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
	w.weigh(&h, t, n)
	for i := 0; i < n; {
		i += w.solve(&h, x, t, i, n)
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
		dense.Axpy(y, w.grown[i], w.read[(n+i)*v:][:v])
		copy(x.Y[i*x.YStep:][:v], y)
	}
	if m == Span {
		w.advance(&h, keys)
	}
}

// weigh computes the decays of n tokens from t on. Exponentials are computed in whole
// vectors: what lies above the diagonal is not used.
func (w *Work[F]) weigh(h *Head[F], t, n int) {
	const unit = 16
	for i := range n {
		row := w.decay[i*Span:][:min((t+i+unit)/unit*unit, Span)]
		for j, g := range h.G[:len(row)] {
			row[j] = h.G[t+i] - g
		}
		dense.Exp(row, row)
	}
	grown := w.grown[:min((n+unit-1)/unit*unit, Span)]
	clear(grown[n:])
	copy(grown[:n], h.G[t:])
	dense.Exp(grown, grown)
}

// block is the number of tokens whose triangular system is solved one by one: what
// earlier blocks of the span contribute to theirs is one product.
const block = 16

// solve computes the vectors u of tokens from t+i on, up to the end of their block or
// of n tokens, and returns their number.
func (w *Work[F]) solve(h *Head[F], x *Tokens[F], t, i, n int) int {
	v, at := w.V, t+i
	first := at / block * block
	m := min(first+block-at, n-i)
	e := w.u[:m*v]
	for r := range m {
		copy(e[r*v:(r+1)*v], w.read[(i+r)*v:])
		dense.Scale(e[r*v:(r+1)*v], w.grown[i+r])
	}
	if first > 0 {
		l := w.mix[:m*first]
		for r := range m {
			dense.Mul(l[r*first:(r+1)*first], w.decay[(i+r)*Span:][:first], w.dots[(i+r)*Span:][:first])
		}
		w.add(e, l, h.U[:first*v], m, first, v)
	}
	for r := range m {
		row := e[r*v : (r+1)*v]
		if k := at + r - first; k > 0 {
			l := w.mix[:k]
			dense.Mul(l, w.decay[(i+r)*Span+first:][:k], w.dots[(i+r)*Span+first:][:k])
			dense.AddMatVecT(row, h.U[first*v:(at+r)*v], l)
		}
		u := h.U[(at+r)*v:][:v]
		copy(u, x.V[(i+r)*x.VStride:][:v])
		dense.Axpy(u, -1, row)
		dense.Scale(u, x.Beta[i+r])
	}
	return m
}

// add adds a·b like [Work.rows]; k is at most one chain.
func (w *Work[F]) add(dst, a, b []F, m, k, n int) {
	if m > 2 {
		w.w.AddMul(dst, a, b, m, k, n)
		return
	}
	for i := range m {
		dense.AddMatVecT(dst[i*n:][:n], b[:k*n], a[i*k:][:k])
	}
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
	w.sum[0] = last
	dense.Exp(w.sum[:1], w.sum[:1])
	dense.Scale(h.S, w.sum[0])
	w.w.AddMul(h.S, keys, w.u[:Span*v], w.K, Span, v)
}
