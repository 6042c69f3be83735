package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// timeGrads are gradients of the saved projections.
type timeGrads[F Float] struct{ r, k, w, a, g, v []F }

func timeMixBack[F Float](b *grad.OpaqueBack[F]) {
	m := b.Aux.(*timeMix[F])
	s, sc, lens := &m.m.step, &m.m.scratch, m.m.step.batch.Lens
	sc.reset()
	x, size := b.In(0), len(b.Saved(savedR))
	rows := size / m.dim
	// what the output projection read, computed again
	h, answer, g := sc.take(size), b.Saved(savedAnswer), b.Saved(savedGates)
	for c := 0; c < size; c += m.n {
		m.load(b.Saved(savedR), b.Saved(savedKey), b.Saved(savedW), b.Saved(savedRate), b.Saved(savedValues), c, c%m.dim)
		m.finish(h[c:c+m.n], answer[c:c+m.n], g[c:c+m.n], c%m.dim)
	}
	dh := sink[F]{g: sc.take(size)}
	m.o.back(b, &dh, b.DOut(0), h, rows)
	d := timeGrads[F]{sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size)}
	row, at := 0, 0
	for _, n := range lens {
		spans := (n + wkvSpan - 1) / wkvSpan
		for c := 0; c < m.dim; c += m.n {
			clear(m.ds)
			for k := spans - 1; k >= 0; k-- {
				lo := k * wkvSpan
				m.spanBack(b, &d, dh.g, b.Saved(savedMemory)[at+k*m.n*m.n:][:m.n*m.n], (row+lo)*m.dim+c, c, min(wkvSpan, n-lo))
			}
			at += spans * m.n * m.n
		}
		row += n
	}
	dx, mixed := sinkOf(b, 0), sc.take(size)
	dmixed := sink[F]{g: sc.take(size)}
	from := func(i int, back func()) {
		shifted(mixed, x, m.mu[i].value(), lens)
		dmixed.add = false
		back()
		shiftedBack(dx.sum(), m.mu[i].grad(b), x, m.mu[i].value(), dmixed.g, lens)
	}
	from(mixR, func() { m.r.back(b, &dmixed, d.r, mixed, rows) })
	from(mixK, func() { m.k.back(b, &dmixed, d.k, mixed, rows) })
	from(mixW, func() { m.w.back(b, s, &dmixed, d.w, mixed, rows) })
	from(mixA, func() { m.a.back(b, s, &dmixed, d.a, mixed, rows) })
	from(mixG, func() { m.g.back(b, s, &dmixed, d.g, mixed, rows) })
	dfirst := sinkOf(b, 1)
	if !m.own {
		dfirst.plus(dense.Of[F](b.Work()), 1, d.v)
		return
	}
	own, share, first := b.Saved(savedOwn), b.Saved(savedShare), b.In(1)
	dshare, into := sc.take(size), dfirst.sum()
	for i, dv := range d.v {
		g := sigmoid(share[i])
		dshare[i] = dv * (first[i] - own[i]) * g * (1 - g)
		if into != nil {
			into[i] += dv * g
		}
		d.v[i] = dv * (1 - g)
	}
	from(mixV, func() {
		m.v.back(b, &dmixed, d.v, mixed, rows)
		m.vr.back(b, s, &dmixed, dshare, mixed, rows)
	})
}

// spanBack goes back over n tokens of a head whose memory before them is first; at is the
// element of the first, c the first channel of the head.
func (m *timeMix[F]) spanBack(b *grad.OpaqueBack[F], d *timeGrads[F], dh, first []F, at, c, n int) {
	r, k, w, a, v := b.Saved(savedR), b.Saved(savedKey), b.Saved(savedW), b.Saved(savedRate), b.Saved(savedValues)
	size := m.n * m.n
	memory := func(t int) []F { return m.states[t*size:][:size] }
	copy(memory(0), first)
	for t := range n {
		m.load(r, k, w, a, v, at+t*m.dim, c)
		m.advance(memory(t+1), memory(t))
	}
	for t := n - 1; t >= 0; t-- {
		i := at + t*m.dim
		m.load(r, k, w, a, v, i, c)
		m.finishBack(b, d, dh, i, c)
		m.tokenBack(b, d, memory(t), memory(t+1), i, c)
	}
}

// finishBack adds the gradients of (norm(y) + bonus v) ⊙ g, and leaves that of y in line4.
// Gradients of the memory's k are left in line3.
func (m *timeMix[F]) finishBack(b *grad.OpaqueBack[F], d *timeGrads[F], dh []F, i, c int) {
	l, n := &m.line, m.n
	y, g := b.Saved(savedAnswer)[i:i+n], b.Saved(savedGates)[i:i+n]
	bonus := m.bonus(c)
	inv := m.centred(l[line2], y)
	norm, bias, rk := m.norm.value()[c:c+n], m.bias.value()[c:c+n], m.rk.value()[c:c+n]
	dnorm, dbias, drk := m.norm.grad(b), m.bias.grad(b), m.rk.grad(b)
	dbonus, mean, along := F(0), F(0), F(0)
	for j := range n {
		x := l[line2][j]
		d.g[i+j] += dh[i+j] * (x*norm[j] + bias[j] + bonus*l[lineV][j])
		do := dh[i+j] * g[j]
		if dnorm != nil {
			dnorm[c+j] += do * x
		}
		if dbias != nil {
			dbias[c+j] += do
		}
		d.v[i+j] += bonus * do
		dbonus += do * l[lineV][j]
		l[line4][j] = do * norm[j]
		mean += l[line4][j]
		along += l[line4][j] * x
	}
	mean, along = mean/F(n), along/F(n)
	for j := range n {
		l[line4][j] = inv * (l[line4][j] - mean - l[line2][j]*along)
		d.r[i+j] += dbonus * l[lineK][j] * rk[j]
		l[line3][j] = dbonus * l[lineR][j] * rk[j]
		if drk != nil {
			drk[c+j] += dbonus * l[lineR][j] * l[lineK][j]
		}
	}
}

// tokenBack adds the gradients of a token, from that of its answer in line4 and of the
// memory after it in ds, which becomes that of the memory before.
func (m *timeMix[F]) tokenBack(b *grad.OpaqueBack[F], d *timeGrads[F], before, after []F, i, c int) {
	l, n := &m.line, m.n
	dy, dk := l[line4], l[line3]
	dense.AddMatVec(d.r[i:i+n], after, dy)
	dense.AddOuter(m.ds, 1, l[lineR], dy)
	dense.AddMatVec(dk, m.ds, l[lineV])
	dense.AddMatVecT(d.v[i:i+n], m.ds, l[lineK])
	dense.MatVecT(l[lineSA], before, l[lineKappa])
	db, dsa := l[line1], l[line2]
	dense.MatVec(db, m.ds, l[lineSA])
	dense.Scale(db, -1)
	dense.MatVecT(dsa, m.ds, l[lineB])
	dense.Scale(dsa, -1)
	dkappa := l[line4] // the answer's is used up
	dense.MatVec(dkappa, before, dsa)
	wraw := b.Saved(savedW)
	for j := range n {
		row := m.ds[j*n:][:n]
		g := sigmoid(wraw[i+j])
		d.w[i+j] += dense.Dot(row, before[j*n:][:n]) * l[lineW][j] * -decayRate * g * (1 - g)
		dense.Scale(row, l[lineW][j])
	}
	dense.AddOuter(m.ds, 1, l[lineKappa], dsa)
	// κ = k k_k of length one, b = κ a, k' = k (1 + (a − 1) k_a)
	k, kk, ka := b.Saved(savedKey)[i:i+n], m.kk.value()[c:c+n], m.ka.value()[c:c+n]
	dkk, dka := m.kk.grad(b), m.ka.grad(b)
	for j := range n {
		dkappa[j] += db[j] * l[lineA][j]
	}
	along := dense.Dot(dkappa, l[lineKappa])
	dense.Mul(l[lineSA], k, kk)
	inv := 1 / max(dense.Norm(l[lineSA]), 1e-12)
	for j := range n {
		rate := l[lineA][j]
		du := (dkappa[j] - l[lineKappa][j]*along) * inv
		da := db[j]*l[lineKappa][j] + dk[j]*k[j]*ka[j]
		d.k[i+j] += du*kk[j] + dk[j]*(1+(rate-1)*ka[j])
		d.a[i+j] += da * rate * (1 - rate)
		if dkk != nil {
			dkk[c+j] += du * k[j]
		}
		if dka != nil {
			dka[c+j] += dk[j] * k[j] * (rate - 1)
		}
	}
}
