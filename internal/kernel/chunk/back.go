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
func (d *Delta[F]) StatesLen(tokens int) int { return (tokens + Span - 1) / Span * d.K * d.V }

// Forward computes a sequence from an empty memory. states may be nil.
func (d *Delta[F]) Forward(y, states []F, x *Sequence[F]) {
	a := d.sequence()
	clear(a.head.S)
	for s, lo := 0, 0; lo < x.Tokens; s, lo = s+1, lo+Span {
		if states != nil {
			copy(states[s*d.K*d.V:(s+1)*d.K*d.V], a.head.S)
		}
		d.forward(y[lo*d.V:], x, lo, min(Span, x.Tokens-lo))
	}
}

// forward computes the span of n tokens from lo on.
func (d *Delta[F]) forward(y []F, x *Sequence[F], lo, n int) {
	a := &d.all
	copy(a.kq, x.K[lo*d.K:(lo+n)*d.K])
	copy(a.kq[n*d.K:], x.Q[lo*d.K:(lo+n)*d.K])
	d.Look(a.keys, a.kq[:2*n*d.K], 0, n)
	d.Run(a.head, a.keys, a.kq[:2*n*d.K], &Tokens[F]{V: x.V[lo*d.V:], Y: y, VStride: d.V, YStep: d.V, G: x.G[lo:], Beta: x.Beta[lo:]}, 0, n)
}

// Back adds the gradients of a sequence to those in g, from dy [Tokens, V] and the
// states of the forward pass. Spans are computed again, the last first.
func (d *Delta[F]) Back(g *Sequence[F], x *Sequence[F], dy, states []F) {
	a := d.sequence()
	a.room(d.K, d.V)
	clear(a.ds)
	for s := (x.Tokens - 1) / Span; s >= 0; s-- {
		lo := s * Span
		s0 := states[s*d.K*d.V:][:d.K*d.V]
		copy(a.head.S, s0)
		n := min(Span, x.Tokens-lo)
		d.forward(a.y, x, lo, n)
		d.back(g, x, dy[lo*d.V:(lo+n)*d.V], s0, lo, n)
	}
}

// sequence is the memory of whole sequences, and of their gradients.
type sequence[F dense.Float] struct {
	w             *dense.Work[F]
	keys          Keys[F]
	kq            []F
	head          Head[F]
	ds, next      []F // [K, V] gradient of the memory after the span, and before
	y, du, dr     []F // [Span, V]
	p, r          []F
	grown, dG, dc []F // [Span]
	d, m          []F // [Span, Span]
	dots, dDots   []F
	asked, dAsked []F
	wide          []F // [Span, max(K, V)]
}

// sequence makes what a forward pass needs.
func (d *Delta[F]) sequence() *sequence[F] {
	a := &d.all
	if a.keys == nil {
		a.w = dense.New[F](nil)
		a.keys, a.kq = make(Keys[F], KeysLen(d.K)), make([]F, 2*Span*d.K)
		a.head = Cut(make([]F, HeadLen(d.K, d.V)), d.K, d.V)
	}
	return a
}

// room makes what a backward pass needs.
func (b *sequence[F]) room(k, v int) {
	if b.ds != nil {
		return
	}
	b.ds, b.next = make([]F, k*v), make([]F, k*v)
	for _, x := range []*[]F{&b.y, &b.du, &b.dr, &b.p, &b.r} {
		*x = make([]F, Span*v)
	}
	for _, x := range []*[]F{&b.d, &b.m, &b.dots, &b.dDots, &b.asked, &b.dAsked} {
		*x = make([]F, Span*Span)
	}
	b.grown, b.dG, b.dc, b.wide = make([]F, Span), make([]F, Span), make([]F, Span), make([]F, Span*max(k, v))
}

// back is the gradient of one span; names are those of the package's comment. D is
// e^(G_t−G_i), and M is D times the products of queries with keys on and below the
// diagonal.
func (c *Delta[F]) back(d, x *Sequence[F], dy, s0 []F, lo, n int) {
	b, kd, vd := &c.all, c.K, c.V
	w := b.w
	k, q := x.K[lo*kd:(lo+n)*kd], x.Q[lo*kd:(lo+n)*kd]
	dk, dq := d.K[lo*kd:(lo+n)*kd], d.Q[lo*kd:(lo+n)*kd]
	u, g := b.head.U[:n*vd], b.head.G[:n]
	w.MulT(b.dots[:n*n], k, k, n, kd, n)
	w.MulT(b.asked[:n*n], q, k, n, kd, n)
	for t := range n {
		row := b.d[t*n:][:n]
		for i := range row {
			row[i] = g[t] - g[i]
		}
		dense.Exp(row[:t+1], row[:t+1])
		clear(row[t+1:])
		dense.Mul(b.m[t*n:][:n], row, b.asked[t*n:][:n])
	}
	dense.Exp(b.grown[:n], g)
	w.Mul(b.p[:n*vd], k, s0, n, kd, vd)
	w.Mul(b.r[:n*vd], q, s0, n, kd, vd)
	clear(b.dG[:n])

	last := b.d[(n-1)*n:][:n] // D of the last token
	// u from the outputs and from the memory after the span
	w.TMul(b.du[:n*vd], b.m[:n*n], dy, n, n, vd)
	w.Mul(b.wide[:n*vd], k, b.ds, n, kd, vd)
	for i := range n {
		row := b.wide[i*vd:][:vd]
		b.turn(i, n, last[i]*dense.Dot(row, u[i*vd:][:vd])) // D of the last token with i
		dense.Axpy(b.du[i*vd:][:vd], last[i], row)
	}
	// the triangular system
	s := c.system(&b.head, 0, n)
	c.w.SolveBack(s, b.du[:n*vd], b.dc)
	de := b.du[:n*vd] // of what the memory answers to keys
	for t := range n {
		d.Beta[lo+t] -= b.dc[t]
		dense.Axpy(d.V[(lo+t)*vd:][:vd], -1, de[t*vd:][:vd])
	}
	// products inside of the span: of D and of the dots
	w.MulT(b.dDots[:n*n], de, u, n, vd, n)
	w.MulT(b.dAsked[:n*n], dy, u, n, vd, n)
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
	w.AddMul(dk, b.dDots[:n*n], k, n, n, kd)
	w.AddTMul(dk, b.dDots[:n*n], k, n, n, kd)
	w.AddMul(dq, b.dAsked[:n*n], k, n, n, kd)
	w.AddTMul(dk, b.dAsked[:n*n], q, n, n, kd)
	// reads of the memory before the span
	for t := range n {
		de, row := de[t*vd:][:vd], b.dr[t*vd:][:vd]
		copy(row, dy[t*vd:][:vd])
		b.dG[t] += b.grown[t] * (dense.Dot(de, b.p[t*vd:][:vd]) + dense.Dot(row, b.r[t*vd:][:vd]))
		dense.Scale(de, b.grown[t])
		dense.Scale(row, b.grown[t])
	}
	w.AddMulT(dk, de, s0, n, vd, kd)
	w.AddMulT(dq, b.dr[:n*vd], s0, n, vd, kd)
	// the memory after the span: e^G S0 + Σ D k uᵀ
	for i := range n {
		row := b.wide[i*vd:][:vd]
		copy(row, u[i*vd:][:vd])
		dense.Scale(row, last[i])
	}
	w.AddMulT(dk, b.wide[:n*vd], b.ds, n, vd, kd)
	b.dG[n-1] += b.grown[n-1] * dense.Dot(b.ds, s0)
	copy(b.next, b.ds)
	dense.Scale(b.next, b.grown[n-1])
	w.AddTMul(b.next, k, de, kd, n, vd)
	w.AddTMul(b.next, q, b.dr[:n*vd], kd, n, vd)
	b.ds, b.next = b.next, b.ds
	// G are sums of g
	sum := F(0)
	for t := n - 1; t >= 0; t-- {
		sum += b.dG[t]
		d.G[lo+t] += sum
	}
}

// turn adds the gradient of the exponent G_(n−1) − G_i.
func (b *sequence[F]) turn(i, n int, f F) {
	b.dG[n-1] += f
	b.dG[i] -= f
}
