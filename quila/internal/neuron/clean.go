package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A blend is what a step of the consistency model makes of its input x and of the
// network's result f: skip·x + out·f, where the network sees in·x; and the
// derivatives of the three by t.
type blend[F grad.Float] struct{ skip, out, in, dSkip, dOut, dIn F }

// blendAt returns the factors at t.
func (g *Grid[F]) blendAt(t F) blend[F] {
	if g.c.CM == "residual" {
		return blend[F]{1, t, 1, 0, 1, 0}
	}
	data := float64(g.bound.sigma)
	rise := g.c.CMSigmaMax * data
	sigma := rise * float64(t)
	den := sigma*sigma + data*data
	root := math.Sqrt(den)
	dDen := 2 * sigma * rise
	return blend[F]{
		F(data * data / den), F(sigma * data / root), F(1 / root),
		F(-data * data / (den * den) * dDen), F(rise*data/root - sigma*data*dDen/(2*den*root)), F(-dDen / (2 * den * root)),
	}
}

// clean is step 7: one step of the consistency model, and a second one for rows
// of low confidence.
func (u *turn[F]) clean() {
	p, d, c := u.p, u.d, u.g.c
	out := u.of(p.clean, d)
	for r := u.r0; r < u.r0+u.m; r++ {
		p.was[r] = u.state(u.s.Conf, r, 1)[0]
	}
	if c.CM == "off" {
		copy(out, u.of(p.kfe, d))
		return
	}
	q := &p.first
	q.room(u.m, d)
	for i := range u.m {
		q.t[q.n+i], q.owner[q.n+i] = 1-p.was[u.r0+i], int32(u.r0+i)
	}
	copy(q.x[q.n*d:], u.of(p.kfe, d))
	u.step(q, u.m)
	copy(out, q.y[(q.n-u.m)*d:])

	low := 0
	for r := u.r0; r < u.r0+u.m; r++ {
		if u.second(r) {
			low++
		}
	}
	if low == 0 {
		return
	}
	q = &p.second
	q.room(low, d)
	i := q.n
	for r := u.r0; r < u.r0+u.m; r++ {
		if !u.second(r) {
			continue
		}
		q.t[i], q.owner[i] = (1-p.was[r])/2, int32(r)
		x := q.x[i*d:][:d]
		copy(x, p.clean[r*d:])
		if u.t.NoiseCM != nil {
			dense.Axpy(x, F(math.Sqrt(c.CMNoise)), u.state(u.t.NoiseCM, r, d))
		}
		i++
	}
	u.step(q, low)
	for i := q.n - low; i < q.n; i++ {
		copy(p.clean[int(q.owner[i])*d:][:d], q.y[i*d:])
	}
}

// second reports whether a row takes the second step.
func (u *turn[F]) second(r int) bool { return float32(u.p.was[r]) < float32(u.g.c.CMSecond) }

// step evaluates the m rows at the end of a pass.
func (u *turn[F]) step(q *pass[F], m int) {
	d, b := u.d, &u.g.bound
	lo := q.n
	q.n += m
	for i := lo; i < q.n; i++ {
		s := u.g.blendAt(q.t[i]).in
		x, in := q.x[i*d:][:d], q.in[i*d:][:d]
		for j, v := range x {
			in[j] = s * v
		}
	}
	z, a, f := q.z[lo*2*d:q.n*2*d], q.a[lo*2*d:q.n*2*d], q.f[lo*d:q.n*d]
	u.l.work.Mul(z, q.in[lo*d:], b.f1T, m, d, 2*d)
	bias := u.g.w.Of("cm.f.1.b")
	for i := range m {
		t := q.t[lo+i]
		row := z[i*2*d:][:2*d]
		for j, v := range b.f1Time {
			row[j] += t*v + bias[j]
		}
	}
	dense.Activate(dense.SiLU, a, z)
	u.l.work.Mul(f, a, b.f2T, m, 2*d, d)
	bias = u.g.w.Of("cm.f.2.b")
	for i := range m {
		k := u.g.blendAt(q.t[lo+i])
		x, row, y := q.x[(lo+i)*d:][:d], f[i*d:][:d], q.y[(lo+i)*d:][:d]
		for j, v := range row {
			v += bias[j]
			row[j] = v
			y[j] = k.skip*x[j] + k.out*v
		}
	}
}
