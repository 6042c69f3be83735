package rule

import (
	"atenia/grad"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
)

// linearBack is the scratch memory of a linear memory's Backward.
type linearBack[F Float] struct {
	state          []F // adjoint of the state after the span, then of that before it
	du, x          []F // [n, d]
	p, sym         []F // [n, n]
	mk, mq, sk, sq []F // [n, d], adjoints
}

func (b *linearBack[F]) size(n, d, state int) {
	b.state = grow(b.state, state)
	for _, a := range []*[]F{&b.du, &b.x, &b.mk, &b.mq, &b.sk, &b.sq} {
		*a = grow(*a, n*d)
	}
	for _, a := range []*[]F{&b.p, &b.sym} {
		*a = grow(*a, n*n)
	}
}

func (r *linear[F]) Backward(w *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	r.back.size(min(span, in.T), r.d, r.stateLen())
	live := dsT != nil
	if live {
		copy(r.back.state, dsT)
	} else {
		clear(r.back.state)
	}
	for i := spans(in.T) - 1; i >= 0; i-- {
		sp, dsp := r.span(in, cache, i), r.span(g, cache, i)
		r.backward(w, &sp, &dsp, dy[sp.lo*r.d:][:sp.n*r.d], live, i > 0 || ds0 != nil)
		live = true
	}
	if ds0 != nil {
		dense.Add(ds0, r.back.state)
	}
}

// backward is the adjoint of one span. live says that the adjoint of the state
// after it is not zero, need that the adjoint of the state before it is
// requested.
func (r *linear[F]) backward(w *grad.Work[F], sp, g *linearSpan[F], dy []F, live, need bool) {
	n, d, b, f := sp.n, r.d, &r.back, &r.f
	f.compute(n, sp.gate[Alpha], sp.gate[Eta])
	f.clear(n)
	r.gram(w, sp)
	u := sp.v
	if r.correct {
		r.u = grow(r.u, n*d)
		chunk.ScaleRows(r.u, sp.e, r.system(sp).C)
		u = r.u
	}
	r.backOut(w, sp, g, u, dy)
	if live {
		r.backState(w, sp, g, u)
	}
	du := b.du[:n*d]
	if r.correct {
		r.backSolve(w, sp, g, u, du)
	} else {
		copy(g.v, du)
	}
	if need {
		r.backFirst(w, sp)
	}
	f.back(n, sp.gate[Alpha], sp.gate[Eta], g.gate[Alpha], g.gate[Eta])
}

// backOut is the adjoint of the outputs: it writes the adjoints of u, q and k.
func (r *linear[F]) backOut(w *grad.Work[F], sp, g *linearSpan[F], u, dy []F) {
	n, d, b, f := sp.n, r.d, &r.back, &r.f
	p, dp := b.p[:n*n], b.sym[:n*n]
	dense.Mul(p, r.gq, f.c)
	w.TMul(b.du[:n*d], p, dy, n, n, d)
	w.MulT(dp, dy, u, n, d, n)
	dense.Mul(f.dc, dp, r.gq)
	dense.Mul(dp, dp, f.c) // adjoint of q.k; zero above the diagonal, as C is
	w.Mul(g.q, dp, sp.k, n, n, d)
	w.TMul(g.k, dp, sp.q, n, n, d)
	for t := range n {
		row := dy[t*d:][:d]
		scaleTo(b.mq[t*d:][:d], f.a[t+1], row)
		f.da[t+1] += dense.Dot(row, sp.mq[t*d:][:d])
		if r.momentum {
			scaleTo(b.sq[t*d:][:d], f.b[t+1], row)
			f.db[t+1] += dense.Dot(row, sp.sq[t*d:][:d])
		}
	}
	w.AddMul(g.q, b.mq[:n*d], sp.m, n, d, d)
	if r.momentum {
		w.AddMul(g.q, b.sq[:n*d], sp.s, n, d, d)
	}
}

// backState is the adjoint of the state after the span.
func (r *linear[F]) backState(w *grad.Work[F], sp, g *linearSpan[F], u []F) {
	n, d, b, f := sp.n, r.d, &r.back, &r.f
	last := (n - 1) * n
	dm := b.state[:d*d]
	r.backOuter(w, sp, g, u, dm, f.c[last:][:n], f.dc[last:][:n])
	f.da[n] += dense.Dot(dm, sp.m)
	if r.momentum {
		ds := b.state[d*d:]
		r.backOuter(w, sp, g, u, ds, f.h[last:][:n], f.dh[last:][:n])
		f.db[n] += dense.Dot(dm, sp.s)
		f.ds[n] += dense.Dot(ds, sp.s)
	}
}

// backOuter is the adjoint of sum weight_i u_i k_i^T.
func (r *linear[F]) backOuter(w *grad.Work[F], sp, g *linearSpan[F], u, dm, weight, dweight []F) {
	n, d, b := sp.n, r.d, &r.back
	x := b.x[:n*d]
	w.MulT(x, sp.k, dm, n, d, d)
	for i, c := range weight {
		dweight[i] += dense.Dot(u[i*d:][:d], x[i*d:][:d])
		dense.Axpy(b.du[i*d:][:d], c, x[i*d:][:d])
	}
	w.AddMul(g.k, r.weigh(weight, u), dm, n, d, d)
}

// backSolve is the adjoint of [linear.solve]: it turns du into the adjoint of
// the errors.
func (r *linear[F]) backSolve(w *grad.Work[F], sp, g *linearSpan[F], u, du []F) {
	n, d, b, f := sp.n, r.d, &r.back, &r.f
	dl := b.sym[:n*n]
	r.w.SolveBack(&r.of, du, g.gate[Theta])
	dense.Scale(g.gate[Theta], -1)
	chunk.ScaleRows(b.mk, du, f.a[:n])
	for t := range n {
		row := du[t*d:][:d]
		f.da[t] += dense.Dot(row, sp.mk[t*d:][:d])
		if r.momentum {
			scaleTo(b.sk[t*d:][:d], f.b[t], row)
			f.db[t] += dense.Dot(row, sp.sk[t*d:][:d])
		}
	}
	copy(g.v, du)
	dense.Scale(g.v, -1)
	w.MulT(dl, du, u, n, d, n)
	for t := range n {
		dl[t*n+t] = 0
		for i := range t {
			v := dl[t*n+i]
			f.dc[(t-1)*n+i] += v * r.gk[t*n+i]
			v *= f.c[(t-1)*n+i]
			dl[t*n+i], dl[i*n+t] = v, v // k_t.k_i is symmetric
		}
	}
	w.AddMul(g.k, dl, sp.k, n, n, d)
	w.AddMul(g.k, b.mk[:n*d], sp.m, n, d, d)
	if r.momentum {
		w.AddMul(g.k, b.sk[:n*d], sp.s, n, d, d)
	}
}

// backFirst turns the adjoint of the state after the span into that before it.
func (r *linear[F]) backFirst(w *grad.Work[F], sp *linearSpan[F]) {
	n, d, b, f := sp.n, r.d, &r.back, &r.f
	dm := b.state[:d*d]
	if r.momentum {
		ds := b.state[d*d:]
		dense.Scale(ds, f.s[n])
		dense.Axpy(ds, f.b[n], dm)
		w.AddTMul(ds, b.sq[:n*d], sp.q, d, n, d)
		w.AddTMul(ds, b.sk[:n*d], sp.k, d, n, d)
	}
	dense.Scale(dm, f.a[n])
	w.AddTMul(dm, b.mq[:n*d], sp.q, d, n, d)
	if r.correct {
		w.AddTMul(dm, b.mk[:n*d], sp.k, d, n, d)
	}
}
