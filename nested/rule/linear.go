package rule

import (
	"atenia/grad"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
)

// span is the number of tokens of a linear memory that are computed together.
// Longer spans give larger matrix products with more operations: the cost per
// token has a term span/2.
const span = 32

// linear is the memory of DeltaRule, TitansLMM and HebbianRule,
//
//	S' = eta S + u k^T ;  M' = rho M + S' ;  y = M' q
//
// with u = -theta (M k - v), or v for HebbianRule, and eta = 0 but for
// TitansLMM. Within a span that begins at M0, S0 the recurrence is a
// triangular system in the vectors u, and everything else is products of
// matrices (the chunkwise form of linear attention: Yang et al.,
// arXiv 2406.06484; package chunk solves the system, there and in the mixers of
// language models):
//
//	M_t = a_t M0 + b_t S0 + sum_{i<=t} C_ti u_i k_i^T
//	S_t = s_t S0          + sum_{i<=t} H_ti u_i k_i^T
//	H_ti = eta_t H_t-1,i    C_ti = rho_t C_t-1,i + H_ti    H_tt = C_tt = 1
//
// so that states inside a span are never stored.
type linear[F Float] struct {
	d                 int
	correct, momentum bool // u is an error; S is carried over
	f                 factors[F]
	w                 chunk.Work[F]
	of                chunk.System[F]
	gk, gq, l, u, c   []F
	scaled            []F // [n, d], rows times factors
	back              linearBack[F]
}

func newLinear[F Float](l *Layout) *linear[F] {
	return &linear[F]{d: l.D, correct: l.Rule != Hebbian, momentum: l.Rule == Titans}
}

func (r *linear[F]) InitState(s []F, _ *Rand) { clear(s) }

// spans returns the number of spans in a chunk.
func spans(tokens int) int { return (tokens + span - 1) / span }

// CacheLens: states at the starts of spans; M0 q and, for rules with errors, M0
// k and the errors of every token; with momentum the same two of S0.
func (r *linear[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	rows := r.d * kept(keep, tokens, span)
	dst = append(dst, r.stateLen()*kept(keep, spans(tokens)+1, 2), rows)
	if r.correct {
		dst = append(dst, rows, rows)
	}
	if r.momentum {
		dst = append(dst, rows, rows)
	}
	return dst
}

func (r *linear[F]) stateLen() int {
	if r.momentum {
		return 2 * r.d * r.d
	}
	return r.d * r.d
}

// linearSpan is one span of a chunk: its tokens and their arrays.
type linearSpan[F Float] struct {
	lo, n          int
	k, v, q        []F // [n, d]
	gate           [gates][]F
	m, s           []F // the state before it
	nextM, nextS   []F // and after
	e              []F // [n, d], errors
	mk, mq, sk, sq []F // [n, d], products of the state before it with keys and queries
}

func (r *linear[F]) span(in *Tokens[F], cache [][]F, i int) linearSpan[F] {
	d, lo := r.d, i*span
	n := min(span, in.T-lo)
	sp := linearSpan[F]{lo: lo, n: n, k: in.K[lo*d:][:n*d], v: in.V[lo*d:][:n*d], q: in.Q[lo*d:][:n*d]}
	for g, all := range in.Gate {
		if all != nil {
			sp.gate[g] = all[lo:][:n]
		}
	}
	row := func(a []F) []F {
		if len(a) < in.T*d {
			return a[:n*d] // not kept
		}
		return a[lo*d:][:n*d]
	}
	states := newHistory(cache[0], r.stateLen())
	before, after := states.at(i), states.at(i+1)
	sp.m, sp.nextM, sp.mq = before[:d*d], after[:d*d], row(cache[1])
	if r.correct {
		sp.mk, sp.e = row(cache[2]), row(cache[3])
	}
	if r.momentum {
		sp.s, sp.nextS = before[d*d:], after[d*d:]
		sp.sk, sp.sq = row(cache[4]), row(cache[5])
	}
	return sp
}

func (r *linear[F]) Forward(w *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	states := newHistory(cache[0], r.stateLen())
	copy(states.at(0), s0)
	for i := range spans(in.T) {
		sp := r.span(in, cache, i)
		r.forward(w, &sp, y[sp.lo*r.d:][:sp.n*r.d])
	}
	copy(sT, states.at(spans(in.T)))
}

// forward computes one span.
func (r *linear[F]) forward(w *grad.Work[F], sp *linearSpan[F], y []F) {
	n, d := sp.n, r.d
	r.f.compute(n, sp.gate[Alpha], sp.gate[Eta])
	r.gram(w, sp)
	w.MulT(sp.mq, sp.q, sp.m, n, d, d)
	if r.momentum {
		w.MulT(sp.sq, sp.q, sp.s, n, d, d)
		w.MulT(sp.sk, sp.k, sp.s, n, d, d)
	}
	u := sp.v
	if r.correct {
		w.MulT(sp.mk, sp.k, sp.m, n, d, d)
		u = r.solve(sp)
	}
	// y_t = a_t M0 q_t + b_t S0 q_t + sum C_ti (k_i.q_t) u_i
	dense.Mul(r.gq, r.gq, r.f.c)
	w.Mul(y, r.gq, u, n, n, d)
	for t := range n {
		row := y[t*d:][:d]
		dense.Axpy(row, r.f.a[t+1], sp.mq[t*d:][:d])
		if r.momentum {
			dense.Axpy(row, r.f.b[t+1], sp.sq[t*d:][:d])
		}
	}
	r.advance(w, sp, u)
}

// gram computes q_t.k_i for i <= t, and k_t.k_i.
func (r *linear[F]) gram(w *grad.Work[F], sp *linearSpan[F]) {
	n, d := sp.n, r.d
	r.gq = grow(r.gq, n*n)
	w.MulT(r.gq, sp.q, sp.k, n, d, n)
	for t := range n {
		clear(r.gq[t*n+t+1 : t*n+n])
	}
	if r.correct {
		r.gk = grow(r.gk, n*n)
		w.MulT(r.gk, sp.k, sp.k, n, d, n)
	}
}

// solve computes e_t = a_t-1 M0 k_t + b_t-1 S0 k_t - v_t + sum_{i<t} C_t-1,i
// (k_i.k_t) u_i, and returns u = -theta e.
func (r *linear[F]) solve(sp *linearSpan[F]) []F {
	n, d := sp.n, r.d
	chunk.ScaleRows(sp.e, sp.mk, r.f.a[:n])
	for t := range n {
		e := sp.e[t*d:][:d]
		dense.Axpy(e, -1, sp.v[t*d:][:d])
		if r.momentum {
			dense.Axpy(e, r.f.b[t], sp.sk[t*d:][:d])
		}
	}
	r.u = grow(r.u, n*d)
	r.w.Solve(r.system(sp))
	return r.u
}

// system returns the triangular system of a span's errors.
func (r *linear[F]) system(sp *linearSpan[F]) *chunk.System[F] {
	n := sp.n
	r.l, r.c = grow(r.l, n*n), grow(r.c, n)
	for t := 1; t < n; t++ {
		dense.Mul(r.l[t*n:][:t], r.f.c[(t-1)*n:][:t], r.gk[t*n:][:t])
	}
	for t, th := range sp.gate[Theta] {
		r.c[t] = -th
	}
	r.of = chunk.System[F]{N: n, Per: 1, V: r.d, L: dense.Part[F]{V: r.l, Stride: n}, U: r.u, P: sp.e, C: r.c}
	return &r.of
}

// scaleTo writes s x.
func scaleTo[F Float](dst []F, s F, x []F) {
	copy(dst, x)
	dense.Scale(dst[:len(x)], s)
}

// weigh returns the rows of u, each times its weight.
func (r *linear[F]) weigh(weight, u []F) []F {
	r.scaled = grow(r.scaled, len(weight)*r.d)
	chunk.ScaleRows(r.scaled, u[:len(weight)*r.d], weight)
	return r.scaled
}

// advance computes the state after the span.
func (r *linear[F]) advance(w *grad.Work[F], sp *linearSpan[F], u []F) {
	n, d := sp.n, r.d
	w.TMul(sp.nextM, r.weigh(r.f.c[(n-1)*n:][:n], u), sp.k, d, n, d)
	dense.Axpy(sp.nextM, r.f.a[n], sp.m)
	if r.momentum {
		dense.Axpy(sp.nextM, r.f.b[n], sp.s)
		w.TMul(sp.nextS, r.weigh(r.f.h[(n-1)*n:][:n], u), sp.k, d, n, d)
		dense.Axpy(sp.nextS, r.f.s[n], sp.s)
	}
}

func (r *linear[F]) Read(w *grad.Work[F], s, q, y []F) {
	w.MulT(y, q, s[:r.d*r.d], len(q)/r.d, r.d, r.d)
}

func (r *linear[F]) ReadBack(w *grad.Work[F], s, _, dy, dq []F) {
	w.Mul(dq, dy, s[:r.d*r.d], len(dy)/r.d, r.d, r.d)
}
