package rule

import "atenia/internal/kernel/dense"

// factors holds the coefficients of a span that depend on the gates alone, and
// their adjoints (see [linear]). They are products of retentions, never
// quotients, so a gate that forgets everything causes no division by zero.
type factors[F Float] struct {
	c, h       []F // [n, n], zero above the diagonal
	a, b, s    []F // [n+1]
	dc, dh     []F
	da, db, ds []F
}

// compute fills the coefficients; without eta, H is the unit matrix.
func (f *factors[F]) compute(n int, alpha, eta []F) {
	f.c, f.h = grow(f.c, n*n), grow(f.h, n*n)
	f.a, f.b, f.s = grow(f.a, n+1), grow(f.b, n+1), grow(f.s, n+1)
	f.a[0], f.b[0], f.s[0] = 1, 0, 1
	for t := range n {
		rho := 1 - alpha[t]
		var et F
		if eta != nil {
			et = eta[t]
		}
		f.s[t+1] = et * f.s[t]
		f.a[t+1] = rho * f.a[t]
		f.b[t+1] = F(rho*f.b[t]) + f.s[t+1]
		c, h := f.c[t*n:][:n], f.h[t*n:][:n]
		clear(c[t:])
		clear(h[t:])
		c[t], h[t] = 1, 1
		for i := range t {
			h[i] = et * f.h[(t-1)*n+i]
			c[i] = F(rho*f.c[(t-1)*n+i]) + h[i]
		}
	}
}

// clear zeroes the adjoints, except for dc, which is written as a whole.
func (f *factors[F]) clear(n int) {
	f.dc, f.dh = grow(f.dc, n*n), grow(f.dh, n*n)
	f.da, f.db, f.ds = grow(f.da, n+1), grow(f.db, n+1), grow(f.ds, n+1)
	for _, a := range [][]F{f.dh, f.da, f.db, f.ds} {
		clear(a)
	}
}

// back turns the adjoints of the coefficients into those of the gates.
func (f *factors[F]) back(n int, alpha, eta, dalpha, deta []F) {
	for t := n - 1; t >= 0; t-- {
		rho := 1 - alpha[t]
		dr := F(f.da[t+1]*f.a[t]) + F(f.db[t+1]*f.b[t])
		f.da[t] += rho * f.da[t+1]
		f.db[t] += rho * f.db[t+1]
		if t > 0 {
			before, dbefore := f.c[(t-1)*n:][:t], f.dc[(t-1)*n:][:t]
			dc := f.dc[t*n:][:t]
			dr += dense.Dot(dc, before)
			dense.Axpy(dbefore, rho, dc)
		}
		dalpha[t] = -dr
		if eta == nil {
			continue
		}
		f.ds[t+1] += f.db[t+1]
		de := f.ds[t+1] * f.s[t]
		f.ds[t] += eta[t] * f.ds[t+1]
		if t > 0 {
			dh := f.dh[t*n:][:t]
			dense.Add(dh, f.dc[t*n:][:t])
			de += dense.Dot(dh, f.h[(t-1)*n:][:t])
			dense.Axpy(f.dh[(t-1)*n:][:t], eta[t], dh)
		}
		deta[t] = de
	}
}
