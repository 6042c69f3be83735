package chunk

import "atenia/internal/kernel/dense"

// GeneralSpan is the number of tokens of a [General] that are computed together. A span
// of 32 has twice the arithmetic inside of spans, which costs more than its larger
// products save.
const GeneralSpan = 16

// perToken is the number of keys of a token: what is removed, and what is written.
const perToken = 2

// A General is the memory of one worker for heads of the generalized delta rule:
// decays by channel, and a removal and a write under different keys (see the comment of
// the package).
//
// With W_t the sums of w since the beginning of a span, queries are q e^W_t and
// κ e^W_(t−1), keys are b e^−W_t and k e^−W_t, and products of the two have decays from
// key to query. Both factors stay far from the bounds of float32 only if the decays of a
// span do: RWKV-7's w is between −e^(−1/2) and 0, so that factors are within e^±9.8.
type General[F dense.Float] struct {
	K, V   int
	w      Work[F]
	sums   []F // [1+span, K] W before the first token, and after each
	grown  []F // [1+span, K] e^W
	shrunk []F // [span, K] e^−W
	rows   []F // [2·span, K] κ e^W, then q e^W
	keys   []F // [K] of a token
	dots   []F // [2·span, 2·span]
	read   []F // [2·span, V]
}

// A GeneralHead is the state of one head.
type GeneralHead[F dense.Float] struct {
	S    []F // [K, V] at the beginning of the span
	Keys []F // [K, 2·span] b e^−W and k e^−W of each token since, a column each
	U    []F // [2·span, V] u and v of each token since
	W    []F // [K] sums of w since
}

// GeneralLen is the size of a state.
func GeneralLen(k, v int) int { return k*v + perToken*GeneralSpan*(k+v) + k }

// CutGeneral divides memory of length [GeneralLen].
func CutGeneral[F dense.Float](all []F, k, v int) (h GeneralHead[F]) {
	const n = perToken * GeneralSpan
	h.S, all = all[:k*v], all[k*v:]
	h.Keys, all = all[:k*n], all[k*n:]
	h.U, h.W = all[:n*v], all[n*v:][:k]
	return h
}

// NewGeneral returns a worker's memory for heads of the given widths.
func NewGeneral[F dense.Float](k, v int) *General[F] {
	const s, n = GeneralSpan, perToken * GeneralSpan
	g := &General[F]{
		K: k, V: v, sums: make([]F, (1+s)*k), grown: make([]F, (1+s)*k), shrunk: make([]F, s*k),
		rows: make([]F, 2*s*k), keys: make([]F, k), dots: make([]F, 2*s*n), read: make([]F, 2*s*v),
	}
	g.w.Room(s, v)
	return g
}

// GeneralTokens are what one head reads of some tokens, in rows that are Stride apart.
type GeneralTokens[F dense.Float] struct {
	Stride           int
	W, Kappa, B, Key []F // [n, K]
	Q                []F // [n, K]
	V, Y             []F // [n, V]
}

// Run computes n tokens that follow t of the span, and advances the state if the span
// ends with them.
func (g *General[F]) Run(h GeneralHead[F], x *GeneralTokens[F], t, n int) {
	const cols = perToken * GeneralSpan
	k, v := g.K, g.V
	g.prepare(h, x, t, n)
	m := memory[F]{K: k, V: v, S: h.S, Keys: part(h.Keys, cols), U: h.U}
	g.w.rows(part(g.dots, cols), part(g.rows, k), m.Keys, 2*n, k, cols)
	m.Read(&g.w, part(g.read, v), part(g.rows, k), 2*n)
	g.w.Solve(&System[F]{At: t, N: n, Per: perToken, V: v, L: part(g.dots, cols), U: h.U, P: g.read})
	weights, y := g.dots[n*cols:], part(g.read[n*v:], v)
	for r := range n {
		clear(weights[r*cols+perToken*(t+r+1) : (r+1)*cols])
	}
	m.mix(&g.w, y, part(weights, cols), t, n, perToken)
	for r := range n {
		copy(x.Y[r*x.Stride:][:v], y.V[r*v:])
	}
	if t+n < GeneralSpan {
		copy(h.W, g.sums[n*k:][:k])
		return
	}
	m.write(&g.w, h.U, cols)
	ScaleRows(h.S, h.S, g.grown[n*k:][:k])
	clear(h.W)
}

// prepare writes the keys and queries of n tokens with their decays, and what is written
// under the keys.
func (g *General[F]) prepare(h GeneralHead[F], x *GeneralTokens[F], t, n int) {
	const cols = perToken * GeneralSpan
	k, v := g.K, g.V
	copy(g.sums, h.W)
	for r := range n {
		sum := g.sums[(r+1)*k:][:k]
		copy(sum, g.sums[r*k:][:k])
		dense.Add(sum, x.W[r*x.Stride:][:k])
	}
	dense.Exp(g.grown[:(n+1)*k], g.sums[:(n+1)*k])
	copy(g.shrunk, g.sums[k:(n+1)*k])
	dense.Scale(g.shrunk[:n*k], -1)
	dense.Exp(g.shrunk[:n*k], g.shrunk[:n*k])
	for r := range n {
		at := r * x.Stride
		dense.Mul(g.rows[r*k:][:k], x.Kappa[at:], g.grown[r*k:])
		dense.Mul(g.rows[(n+r)*k:][:k], x.Q[at:], g.grown[(r+1)*k:])
		for i, key := range [...][]F{x.B, x.Key} {
			dense.Mul(g.keys, key[at:], g.shrunk[r*k:])
			to := h.Keys[perToken*(t+r)+i:]
			for c, f := range g.keys {
				to[c*cols] = f
			}
		}
		copy(h.U[(perToken*(t+r)+1)*v:][:v], x.V[at:])
	}
}
