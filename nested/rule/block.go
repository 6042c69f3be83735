package rule

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// normEps is the length below which a key counts as zero.
const normEps = 1e-8

// A Block is a memory rule with its projections and gates: the computation of
// one level of a nested model for one chunk. It owns only scratch memory, and
// belongs to one goroutine at a time.
type Block[F Float] struct {
	*Layout
	Core Rule[F]

	proj, dproj, dpre []F
	in, g             Tokens[F]
	grads             []F // memory of g
	lens              []int
	own               []F   // a cache for callers without one
	parts             [][]F // its arrays, or those of the caller's
	saved             []grad.Ref
	frozen            grad.Key // made once
}

// New returns the block of a rule at width d.
func New[F Float](name Name, d int, c Config) (*Block[F], error) {
	l, err := NewLayout(name, d, c)
	if err != nil {
		return nil, err
	}
	return &Block[F]{Layout: l, Core: newRule[F](l), frozen: name.FrozenKey()}, nil
}

// blockArrays is the number of arrays of a cache before the rule's: keys,
// values, queries and code as the rule uses them, lengths of keys and queries,
// gates before and after their squashing functions.
const blockArrays = 8

// CacheLens returns the lengths of the arrays that Forward leaves for Backward;
// the slice is valid until the next call.
func (b *Block[F]) CacheLens(tokens int) []int { return b.cacheLens(tokens, true) }

func (b *Block[F]) cacheLens(tokens int, keep bool) []int {
	g := len(b.Gates)
	b.lens = append(b.lens[:0], tokens*b.DK, tokens*b.D, tokens*b.DK, tokens*b.Code, tokens, tokens, g*tokens, g*tokens)
	b.lens = b.Core.CacheLens(b.lens, tokens, keep)
	return b.lens
}

// Cut divides buf into the consecutive arrays of a cache for the given number
// of tokens; it appends them to dst.
func (b *Block[F]) Cut(dst [][]F, tokens int, buf []F) [][]F {
	for _, n := range b.CacheLens(tokens) {
		dst = append(dst, carve(&buf, n))
	}
	return dst
}

// CacheLen returns the total length of a chunk's cache.
func (b *Block[F]) CacheLen(tokens int) int { return sum(b.CacheLens(tokens)) }

func sum(all []int) (n int) {
	for _, l := range all {
		n += l
	}
	return n
}

// Tokens returns the chunk that a cache holds after a Forward, valid until the
// next call.
func (b *Block[F]) Tokens(n int, cache [][]F) *Tokens[F] {
	b.in = Tokens[F]{T: n, K: cache[0], V: cache[1], Q: cache[2], Code: cache[3]}
	for i, g := range b.Gates {
		b.in.Gate[g] = cache[7][i*n:][:n]
	}
	return &b.in
}

// Forward computes the outputs y for the rows of x, both [T, D], with the flat
// parameters p and the state s0, and writes the state after the chunk to sT. sT
// may alias s0 only without a cache. The cache has the arrays of
// [Block.CacheLens]; pass nil if no Backward follows, which saves memory and
// gives the same bits.
func (b *Block[F]) Forward(w *grad.Work[F], x, p, s0, y, sT []F, cache [][]F) {
	n := len(x) / b.D
	if cache == nil {
		lens := b.cacheLens(n, false)
		b.own = grow(b.own, sum(lens))
		buf := b.own
		b.parts = b.parts[:0]
		for _, l := range lens {
			b.parts = append(b.parts, carve(&buf, l))
		}
		cache = b.parts
	}
	in := b.project(w, x, p, n, cache)
	b.Core.Forward(w, in, s0, sT, y, cache[blockArrays:])
	flush(sT)
}

// project computes keys, values, queries, code and gates of a chunk.
func (b *Block[F]) project(w *grad.Work[F], x, p []F, n int, cache [][]F) *Tokens[F] {
	d, r := b.D, b.rows()
	b.proj = grow(b.proj, n*r)
	w.MulT(b.proj, x, p[:r*d], n, d, r)
	in := b.Tokens(n, cache)
	for t := range n {
		row := b.proj[t*r:][:r]
		copy(in.K[t*b.DK:][:b.DK], row)
		copy(in.V[t*d:][:d], row[b.DK:])
		copy(in.Q[t*b.DK:][:b.DK], row[b.query():])
		copy(in.Code[t*b.Code:][:b.Code], row[b.query()+b.DK:])
	}
	if !b.Config.RawQK {
		normalize(in.K, cache[4], b.DK)
		normalize(in.Q, cache[5], b.DK)
	}
	for i, g := range b.Gates {
		weight, bias := b.gate(p, i)
		pre := cache[6][i*n:][:n]
		dense.MatVec(pre, x, weight)
		val := in.Gate[g]
		for t := range pre {
			pre[t] += bias[0]
		}
		dense.Activate(squash(g), val, pre)
		b.clamp(g, val)
	}
	return in
}

// gate returns the weights and the bias of the i-th gate.
func (b *Block[F]) gate(p []F, i int) (weight, bias []F) {
	at := b.rows()*b.D + i*(b.D+1)
	return p[at:][:b.D], p[at+b.D:][:1]
}

func squash(g Gate) dense.Activation {
	if g == Theta {
		return dense.Softplus
	}
	return dense.Sigmoid
}

// bounds returns the range to which a gate is clamped; max 0 means unbounded
// above.
func (l *Layout) bounds(g Gate) (least, most float64) {
	switch g {
	case Alpha:
		return l.Config.AlphaMin, l.Config.AlphaMax
	case Theta:
		return l.Config.ThetaMin, l.Config.ThetaMax
	}
	return 0, 0
}

func (b *Block[F]) clamp(g Gate, val []F) {
	least, most := b.bounds(g)
	if least == 0 && most == 0 {
		return
	}
	for t, v := range val {
		val[t] = max(v, F(least))
		if most > 0 {
			val[t] = min(val[t], F(most))
		}
	}
}

// normalize divides every row by its length, which it writes to norms.
func normalize[F Float](rows, norms []F, n int) {
	for t := range norms {
		row := rows[t*n:][:n]
		l := dense.Norm(row)
		norms[t] = l
		dense.Scale(row, 1/max(l, normEps))
	}
}

// normalizeBack turns the adjoint d of a normalized row into that of the row.
func normalizeBack[F Float](d, row []F, norm F) {
	if norm > normEps {
		dense.Axpy(d, -dense.Dot(row, d), row)
	}
	dense.Scale(d, 1/max(norm, normEps))
}

// Backward computes the adjoints of all inputs of the Forward that filled
// cache. dy [T, D] and, unless nil, dsT are the adjoints of the outputs and of
// the final state; dx, dp and ds0 are added to, and each may be nil.
func (b *Block[F]) Backward(w *grad.Work[F], x, p, s0 []F, cache [][]F, dy, dsT, dx, dp, ds0 []F) {
	n, d, r := len(x)/b.D, b.D, b.rows()
	in := b.Tokens(n, cache)
	g := b.adjoints(n)
	b.Core.Backward(w, in, s0, cache[blockArrays:], dy, dsT, g, ds0)
	b.dproj = grow(b.dproj, n*r)
	for t := range n {
		row := b.dproj[t*r:][:r]
		copy(row, g.K[t*b.DK:][:b.DK])
		copy(row[b.DK:], g.V[t*d:][:d])
		copy(row[b.query():], g.Q[t*b.DK:][:b.DK])
		copy(row[b.query()+b.DK:], g.Code[t*b.Code:][:b.Code])
		if !b.Config.RawQK {
			normalizeBack(row[:b.DK], in.K[t*b.DK:][:b.DK], cache[4][t])
			normalizeBack(row[b.query():][:b.DK], in.Q[t*b.DK:][:b.DK], cache[5][t])
		}
	}
	if dp != nil {
		w.AddTMul(dp[:r*d], b.dproj, x, r, n, d)
	}
	if dx != nil {
		w.AddMul(dx, b.dproj, p[:r*d], n, r, d)
	}
	for i, gate := range b.Gates {
		b.gateBack(gate, i, x, p, cache[6][i*n:][:n], in.Gate[gate], g.Gate[gate], dx, dp)
	}
}

// Adjoints returns the adjoints of keys, values, queries, code and gates
// computed by the last Backward, valid until the next call.
func (b *Block[F]) Adjoints() *Tokens[F] { return &b.g }

func (b *Block[F]) adjoints(n int) *Tokens[F] {
	b.grads = grow(b.grads, n*(b.rows()+len(b.Gates)))
	buf := b.grads
	b.g = Tokens[F]{T: n, K: carve(&buf, n*b.DK), V: carve(&buf, n*b.D), Q: carve(&buf, n*b.DK), Code: carve(&buf, n*b.Code)}
	for _, g := range b.Gates {
		b.g.Gate[g] = carve(&buf, n)
	}
	return &b.g
}

// gateBack is the adjoint of one gate.
func (b *Block[F]) gateBack(g Gate, i int, x, p, pre, val, dval, dx, dp []F) {
	b.dpre = grow(b.dpre, len(pre))
	dpre := b.dpre
	least, most := b.bounds(g)
	for t, v := range val {
		if (least > 0 && v <= F(least)) || (most > 0 && v >= F(most)) {
			dpre[t] = 0
			continue
		}
		if g == Theta {
			dpre[t] = dval[t] * sigmoid(pre[t])
		} else {
			dpre[t] = dval[t] * v * (1 - v)
		}
	}
	weight, _ := b.gate(p, i)
	if dp != nil {
		dweight, dbias := b.gate(dp, i)
		dense.AddMatVecT(dweight, x, dpre)
		for _, v := range dpre {
			dbias[0] += v
		}
	}
	if dx != nil {
		dense.AddOuter(dx, 1, dpre, weight)
	}
}

func sigmoid[F Float](x F) F {
	if x >= 0 {
		return F(1 / (1 + math.Exp(-float64(x))))
	}
	e := math.Exp(float64(x))
	return F(e / (1 + e))
}

// InitState sets a state to its value at the start of a document.
func (b *Block[F]) InitState(s []F, r *Rand) { b.Core.InitState(s, r) }

// Query computes the queries q [T, DK] of a frozen level for the rows of x:
// projected by wq [DK, D] and normalized. norms [T] is for QueryBack.
func (b *Block[F]) Query(w *grad.Work[F], x, wq, q, norms []F) {
	n := len(x) / b.D
	w.MulT(q, x, wq, n, b.D, b.DK)
	if !b.Config.RawQK {
		normalize(q, norms[:n], b.DK)
	}
}

// QueryBack adds to dx and dwq, each of which may be nil, the adjoints that
// follow from dq, the adjoint of the queries, which it overwrites.
func (b *Block[F]) QueryBack(w *grad.Work[F], x, wq, q, norms, dq, dx, dwq []F) {
	n := len(x) / b.D
	if !b.Config.RawQK {
		for t := range n {
			normalizeBack(dq[t*b.DK:][:b.DK], q[t*b.DK:][:b.DK], norms[t])
		}
	}
	if dx != nil {
		w.AddMul(dx, dq, wq, n, b.DK, b.D)
	}
	if dwq != nil {
		w.AddTMul(dwq, dq, x, b.DK, n, b.D)
	}
}

// Read answers the queries q [T, DK] from a state without changing it, as a
// frozen level does.
func (b *Block[F]) Read(w *grad.Work[F], s, q, y []F) { b.Core.Read(w, s, q, y) }

// ReadBack computes the adjoint of the queries of Read.
func (b *Block[F]) ReadBack(w *grad.Work[F], s, q, dy, dq []F) { b.Core.ReadBack(w, s, q, dy, dq) }
