package chunk

import "atenia/internal/kernel/dense"

// A Sequence is what one head reads of a whole sequence of Tokens tokens.
type Sequence[F dense.Float] struct {
	Tokens  int
	K, Q    []F // [Tokens, K]
	V       []F // [Tokens, V]
	G, Beta []F // [Tokens]
}

// StatesLen is the size of what a forward pass keeps of a sequence: the memory at the
// beginning of every span.
func (w *Work[F]) StatesLen(tokens int) int { return (tokens + Span - 1) / Span * w.K * w.V }

// Forward computes a sequence from an empty memory. states may be nil.
func (w *Work[F]) Forward(y, states []F, x *Sequence[F]) {
	w.room()
	clear(w.head.S)
	for s, lo := 0, 0; lo < x.Tokens; s, lo = s+1, lo+Span {
		if states != nil {
			copy(states[s*w.K*w.V:(s+1)*w.K*w.V], w.head.S)
		}
		w.forward(y[lo*w.V:], x, lo, min(Span, x.Tokens-lo))
	}
}

// forward computes the span of n tokens from lo on, in w.head.
func (w *Work[F]) forward(y []F, x *Sequence[F], lo, n int) {
	copy(w.kq, x.K[lo*w.K:(lo+n)*w.K])
	copy(w.kq[n*w.K:], x.Q[lo*w.K:(lo+n)*w.K])
	w.Look(w.keys, w.kq[:2*n*w.K], 0, n)
	w.Run(w.head, w.keys, w.kq[:2*n*w.K], &Tokens[F]{V: x.V[lo*w.V:], Y: y, VStride: w.V, YStep: w.V, G: x.G[lo:], Beta: x.Beta[lo:]}, 0, n)
}

// room makes the memory of whole sequences.
func (w *Work[F]) room() {
	if w.keys == nil {
		w.keys, w.kq = make(Keys[F], KeysLen(w.K)), make([]F, 2*Span*w.K)
		w.head = Cut(make([]F, HeadLen(w.K, w.V)), w.K, w.V)
	}
}

// Back adds the gradients of a sequence to those in d, from dy [Tokens, V] and the
// states of the forward pass. Spans are computed again, the last first.
func (w *Work[F]) Back(d *Sequence[F], x *Sequence[F], dy, states []F) {
	w.room()
	b := &w.b
	b.room(w.K, w.V)
	clear(b.ds)
	for s := (x.Tokens - 1) / Span; s >= 0; s-- {
		lo := s * Span
		s0 := states[s*w.K*w.V:][:w.K*w.V]
		copy(w.head.S, s0)
		n := min(Span, x.Tokens-lo)
		w.forward(b.y, x, lo, n)
		w.back(d, x, dy[lo*w.V:(lo+n)*w.V], s0, lo, n)
	}
}

// backward is the memory of [Work.Back].
type backward[F dense.Float] struct {
	ds, next             []F // [K, V] gradient of the memory after the span, and before
	y, du, dp, dr        []F // [Span, V]
	p, r                 []F
	grown, dG            []F // [Span]
	d, l, m, dots, dDots []F // [Span, Span]
	asked, dAsked        []F
	wide                 []F // [Span, max(K, V)]
}

func (b *backward[F]) room(k, v int) {
	if b.ds != nil {
		return
	}
	b.ds, b.next = make([]F, k*v), make([]F, k*v)
	for _, x := range []*[]F{&b.y, &b.du, &b.dp, &b.dr, &b.p, &b.r} {
		*x = make([]F, Span*v)
	}
	for _, x := range []*[]F{&b.d, &b.l, &b.m, &b.dots, &b.dDots, &b.asked, &b.dAsked} {
		*x = make([]F, Span*Span)
	}
	b.grown, b.dG, b.wide = make([]F, Span), make([]F, Span), make([]F, Span*max(k, v))
}

// back is the gradient of one span; names are those of the package's comment. D is
// e^(G_t−G_i), L is D times the products of keys below the diagonal, and M is D times
// those of queries with keys on and below it.
func (w *Work[F]) back(d, x *Sequence[F], dy, s0 []F, lo, n int) {
	b, kd, vd := &w.b, w.K, w.V
	k, q := x.K[lo*kd:(lo+n)*kd], x.Q[lo*kd:(lo+n)*kd]
	dk, dq := d.K[lo*kd:(lo+n)*kd], d.Q[lo*kd:(lo+n)*kd]
	u, g := w.head.U[:n*vd], w.head.G[:n]
	w.w.MulT(b.dots[:n*n], k, k, n, kd, n)
	w.w.MulT(b.asked[:n*n], q, k, n, kd, n)
	for t := range n {
		row := b.d[t*n:][:n]
		for i := range row {
			row[i] = g[t] - g[i]
		}
		dense.Exp(row[:t+1], row[:t+1])
		clear(row[t+1:])
		dense.Mul(b.m[t*n:][:n], row, b.asked[t*n:][:n])
		dense.Mul(b.l[t*n:][:n], row, b.dots[t*n:][:n])
		clear(b.l[t*n+t : t*n+n])
	}
	dense.Exp(b.grown[:n], g)
	w.w.Mul(b.p[:n*vd], k, s0, n, kd, vd)
	w.w.Mul(b.r[:n*vd], q, s0, n, kd, vd)
	clear(b.dG[:n])

	last := b.d[(n-1)*n:][:n] // D of the last token
	// u from the outputs and from the memory after the span
	w.w.TMul(b.du[:n*vd], b.m[:n*n], dy, n, n, vd)
	w.w.Mul(b.wide[:n*vd], k, b.ds, n, kd, vd)
	for i := range n {
		row := b.wide[i*vd:][:vd]
		w.turn(i, n, last[i]*dense.Dot(row, u[i*vd:][:vd])) // D of the last token with i
		dense.Axpy(b.du[i*vd:][:vd], last[i], row)
	}
	// the triangular system, from below: u = β (v − e^G S0ᵀk − L u)
	for t := n - 1; t >= 0; t-- {
		du, de, beta := b.du[t*vd:][:vd], b.dp[t*vd:][:vd], x.Beta[lo+t]
		e := b.wide[:vd] // v − e^G S0ᵀk − L u
		copy(e, x.V[(lo+t)*vd:][:vd])
		dense.Axpy(e, -b.grown[t], b.p[t*vd:][:vd])
		for i := range t {
			dense.Axpy(e, -b.l[t*n+i], u[i*vd:][:vd])
		}
		d.Beta[lo+t] += dense.Dot(du, e)
		dense.Axpy(d.V[(lo+t)*vd:][:vd], beta, du)
		copy(de, du)
		dense.Scale(de, -beta)
		for i := range t {
			dense.Axpy(b.du[i*vd:][:vd], b.l[t*n+i], de)
		}
	}
	// products inside of the span: of D and of the dots
	w.w.MulT(b.dDots[:n*n], b.dp[:n*vd], u, n, vd, n)
	w.w.MulT(b.dAsked[:n*n], dy, u, n, vd, n)
	for t := range n {
		for i := range t + 1 {
			at := t*n + i
			f := b.dAsked[at] * b.asked[at]
			if i < t {
				f += b.dDots[at] * b.dots[at]
				b.dDots[at] *= b.d[at]
			} else {
				b.dDots[at] = 0
			}
			b.dAsked[at] *= b.d[at]
			b.dG[t] += f * b.d[at]
			b.dG[i] -= f * b.d[at]
		}
		clear(b.dDots[t*n+t+1 : (t+1)*n])
		clear(b.dAsked[t*n+t+1 : (t+1)*n])
	}
	w.w.AddMul(dk, b.dDots[:n*n], k, n, n, kd)
	w.w.AddTMul(dk, b.dDots[:n*n], k, n, n, kd)
	w.w.AddMul(dq, b.dAsked[:n*n], k, n, n, kd)
	w.w.AddTMul(dk, b.dAsked[:n*n], q, n, n, kd)
	// reads of the memory before the span
	for t := range n {
		de, row := b.dp[t*vd:][:vd], b.dr[t*vd:][:vd]
		copy(row, dy[t*vd:][:vd])
		b.dG[t] += b.grown[t] * (dense.Dot(de, b.p[t*vd:][:vd]) + dense.Dot(row, b.r[t*vd:][:vd]))
		dense.Scale(de, b.grown[t])
		dense.Scale(row, b.grown[t])
	}
	w.w.AddMulT(dk, b.dp[:n*vd], s0, n, vd, kd)
	w.w.AddMulT(dq, b.dr[:n*vd], s0, n, vd, kd)
	// the memory after the span: e^G S0 + Σ D k uᵀ
	for i := range n {
		row := b.wide[i*vd:][:vd]
		copy(row, u[i*vd:][:vd])
		dense.Scale(row, last[i])
	}
	w.w.AddMulT(dk, b.wide[:n*vd], b.ds, n, vd, kd)
	b.dG[n-1] += b.grown[n-1] * dense.Dot(b.ds, s0)
	copy(b.next, b.ds)
	dense.Scale(b.next, b.grown[n-1])
	w.w.AddTMul(b.next, k, b.dp[:n*vd], kd, n, vd)
	w.w.AddTMul(b.next, q, b.dr[:n*vd], kd, n, vd)
	b.ds, b.next = b.next, b.ds
	// G are sums of g
	sum := F(0)
	for t := n - 1; t >= 0; t-- {
		sum += b.dG[t]
		d.G[lo+t] += sum
	}
}

// turn adds the gradient of the exponent G_(n−1) − G_i.
func (w *Work[F]) turn(i, n int, f F) {
	w.b.dG[n-1] += f
	w.b.dG[i] -= f
}
