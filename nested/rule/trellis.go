package rule

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// trellis is the two-pass memory that compresses towards a code c = W_C x
// (Trellis, arXiv 2512.23852),
//
//	write(M, w):  z = M w ; phi = silu(z) / n ; g = J_phi(z)^T (phi - c)
//	              M' = rho M - theta g w^T
//	M^K' = write(M^K, k) ;  M^V' = write(M^V, v) ;  y = M^V'^T phi(M^K' q)
//
// with n the length of silu(z), smoothed so that a second derivative exists.
type trellis[F Float] struct {
	d, m     int
	eps      F
	ds       []F
	u, dz    []F // [m]
	s1, dphi []F
	zq, phi  []F
}

func newTrellis[F Float](l *Layout) *trellis[F] {
	m := l.Config.Slots
	buf := make([]F, 6*m)
	r := &trellis[F]{d: l.D, m: m, eps: F(l.Config.NsiluEps)}
	for _, p := range []*[]F{&r.u, &r.dz, &r.s1, &r.dphi, &r.zq, &r.phi} {
		*p = carve(&buf, m)
	}
	return r
}

// InitState: random, since phi is nearly singular at zero.
func (r *trellis[F]) InitState(s []F, rnd *Rand) { Uniform(rnd, s, 1/math.Sqrt(float64(r.d))) }

// A trellisStep is what one write leaves for its adjoint.
type trellisStep[F Float] struct {
	z, phi, r, t, g []F // [m]
	n, beta         *F
}

func (r *trellis[F]) stepLen() int { return 5*r.m + 2 }
func (r *trellis[F]) readLen() int { return 2*r.m + 1 }

func (r *trellis[F]) step(buf []F) trellisStep[F] {
	m := r.m
	return trellisStep[F]{carve(&buf, m), carve(&buf, m), carve(&buf, m), carve(&buf, m), carve(&buf, m), &buf[0], &buf[1]}
}

// CacheLens: both memories; the steps of both writes and of the read.
func (r *trellis[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, 2*r.m*r.d*kept(keep, tokens+1, 2), 2*n*r.stepLen(), n*r.readLen())
}

// silu writes silu(z) / n to phi and returns n.
func (r *trellis[F]) silu(phi, z []F) F {
	dense.Activate(dense.SiLU, phi, z)
	n := F(math.Sqrt(float64(dense.Dot(phi, phi) + r.eps*r.eps)))
	dense.Scale(phi, 1/n)
	return n
}

// slope writes silu'(z) to dst.
func slope[F Float](dst, z []F) {
	dense.Activate(dense.Sigmoid, dst, z)
	for i, s := range dst {
		dst[i] = s * (1 + F(z[i]*(1-s)))
	}
}

// siluBack turns the adjoint of phi into that of z.
func (r *trellis[F]) siluBack(d, z, phi []F, n F) {
	dense.Axpy(d, -dense.Dot(phi, d), phi)
	slope(r.s1, z)
	for i, s := range r.s1 {
		d[i] = d[i] / n * s
	}
}

func (r *trellis[F]) write(next, mem, w, code []F, rho, th F, st trellisStep[F]) {
	dense.MatVec(st.z, mem, w)
	n := r.silu(st.phi, st.z)
	for i, p := range st.phi {
		st.r[i] = p - code[i]
	}
	beta := dense.Dot(st.phi, st.r)
	slope(r.s1, st.z)
	for i, p := range st.phi {
		st.t[i] = (st.r[i] - F(p*beta)) / n
		st.g[i] = st.t[i] * r.s1[i]
	}
	*st.n, *st.beta = n, beta
	stepOuter(next, mem, rho, -th, st.g, w)
}

// writeBack turns the adjoint dm of the memory after a write into that before
// it; it writes dw and adds to dcode.
func (r *trellis[F]) writeBack(dm, mem, w []F, rho, th F, st trellisStep[F], dw, dcode []F) (dalpha, dtheta F) {
	dalpha = -dense.Dot(dm, mem)
	dense.MatVec(r.u, dm, w)
	dtheta = -dense.Dot(st.g, r.u)
	dense.MatVecT(dw, dm, st.g)
	dense.Scale(dw, -th)
	dense.Activate(dense.Sigmoid, r.s1, st.z)
	n, beta := *st.n, *st.beta
	var dn, dbeta F
	for i, s := range r.s1 { // g = t silu'(z), t = (r - phi beta) / n
		z, dg := st.z[i], -th*r.u[i]
		r.s1[i] = s * (1 + F(z*(1-s)))
		r.dz[i] = dg * st.t[i] * (s * (1 - s) * (2 + F(z*(1-F(2*s)))))
		dt := dg * r.s1[i]
		dn -= dt * st.t[i] / n
		r.u[i] = dt / n // adjoint of t n
		dbeta -= st.phi[i] * r.u[i]
	}
	for i, p := range st.phi { // beta = phi.r, r = phi - c
		dr := r.u[i] + F(dbeta*p)
		r.dphi[i] = F(dbeta*st.r[i]) - F(beta*r.u[i]) + dr
		dcode[i] -= dr
		dn -= r.dphi[i] * p / n
	}
	for i, p := range st.phi { // phi = s / n, n = sqrt(s.s + eps^2)
		r.dz[i] += (r.dphi[i]/n + F(dn*p)) * r.s1[i]
	}
	dense.ScaleAddOuter(dm, rho, 1, r.dz, w)
	dense.AddMatVecT(dw, mem, r.dz)
	return dalpha, dtheta
}

func (r *trellis[F]) Forward(_ *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	d, m, size := r.d, r.m, r.m*r.d
	states, steps, reads := newHistory(cache[0], 2*size), newHistory(cache[1], 2*r.stepLen()), newHistory(cache[2], r.readLen())
	copy(states.at(0), s0)
	for t := range in.T {
		k, v, q := in.row(t, d)
		code, rho, th := in.Code[t*m:][:m], 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		s, next, st, rd := states.at(t), states.at(t+1), steps.at(t), reads.at(t)
		r.write(next[:size], s[:size], k, code, rho, th, r.step(st))
		r.write(next[size:], s[size:], v, code, rho, th, r.step(st[r.stepLen():]))
		zq, u := rd[:m], rd[m:2*m]
		dense.MatVec(zq, next[:size], q)
		rd[2*m] = r.silu(u, zq)
		dense.MatVecT(y[t*d:][:d], next[size:], u)
	}
	copy(sT, states.at(in.T))
}

func (r *trellis[F]) Backward(_ *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	d, m, size := r.d, r.m, r.m*r.d
	states, steps, reads := newHistory(cache[0], 2*size), newHistory(cache[1], 2*r.stepLen()), newHistory(cache[2], r.readLen())
	r.ds = start(r.ds, dsT, 2*size)
	dk1, dv1 := r.ds[:size], r.ds[size:]
	clear(g.Code)
	for t := in.T - 1; t >= 0; t-- {
		k, v, q := in.row(t, d)
		dk, dv, dq := g.row(t, d)
		rho, th, dcode := 1-in.Gate[Alpha][t], in.Gate[Theta][t], g.Code[t*m:][:m]
		s, next, st, rd := states.at(t), states.at(t+1), steps.at(t), reads.at(t)
		u, dyt := rd[m:2*m], dy[t*d:][:d]
		dense.AddOuter(dv1, 1, u, dyt)
		dense.MatVec(r.dz, next[size:], dyt)
		r.siluBack(r.dz, rd[:m], u, rd[2*m])
		dense.AddOuter(dk1, 1, r.dz, q)
		dense.MatVecT(dq, next[:size], r.dz)
		a2, t2 := r.writeBack(dv1, s[size:], v, rho, th, r.step(st[r.stepLen():]), dv, dcode)
		a1, t1 := r.writeBack(dk1, s[:size], k, rho, th, r.step(st), dk, dcode)
		g.Gate[Alpha][t], g.Gate[Theta][t] = a1+a2, t1+t2
	}
	if ds0 != nil {
		dense.Add(ds0, r.ds)
	}
}

func (r *trellis[F]) Read(_ *grad.Work[F], s, q, y []F) {
	d, size := r.d, r.m*r.d
	for t := range len(q) / d {
		dense.MatVec(r.zq, s[:size], q[t*d:][:d])
		r.silu(r.phi, r.zq)
		dense.MatVecT(y[t*d:][:d], s[size:], r.phi)
	}
}

func (r *trellis[F]) ReadBack(_ *grad.Work[F], s, q, dy, dq []F) {
	d, size := r.d, r.m*r.d
	for t := range len(q) / d {
		dense.MatVec(r.zq, s[:size], q[t*d:][:d])
		n := r.silu(r.phi, r.zq)
		dense.MatVec(r.dz, s[size:], dy[t*d:][:d])
		r.siluBack(r.dz, r.zq, r.phi, n)
		dense.MatVecT(dq[t*d:][:d], s[:size], r.dz)
	}
}
