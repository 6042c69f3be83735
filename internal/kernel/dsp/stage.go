package dsp

// This file holds the butterflies. Every loop runs over the stride, along which
// numbers are contiguous; the first stage has stride one and, if it is a radix
// 4, a separate loop over the groups.

import (
	"math"
	"unsafe"
)

func (st *stage[F]) run(yr, yi, xr, xi []F) {
	if single[F]() && assembled((*stage[float32])(unsafe.Pointer(st)), as32(yr), as32(yi), as32(xr), as32(xi)) {
		return
	}
	st.portable(yr, yi, xr, xi)
}

// portable is the specification. Conversions keep products from being fused with sums,
// so that all machines agree.
func (st *stage[F]) portable(yr, yi, xr, xi []F) {
	switch {
	case st.radix == 4 && st.s == 1:
		st.first4(yr, yi, xr, xi)
	case st.radix == 4:
		st.run4(yr, yi, xr, xi)
	case st.radix == 2:
		st.run2(yr, yi, xr, xi)
	case st.radix == 3:
		st.run3(yr, yi, xr, xi)
	default:
		st.run5(yr, yi, xr, xi)
	}
}

// first4 is radix 4 at stride one.
func (st *stage[F]) first4(yr, yi, xr, xi []F) {
	m := st.m
	ar, br, cr, dr := xr[:m], xr[m:][:m], xr[2*m:][:m], xr[3*m:][:m]
	ai, bi, ci, di := xi[:m], xi[m:][:m], xi[2*m:][:m], xi[3*m:][:m]
	wr, wi := st.wr[:3*m], st.wi[:3*m]
	yr, yi = yr[:4*m], yi[:4*m]
	for p := range ar {
		sr, si, tr, ti := ar[p]+cr[p], ai[p]+ci[p], ar[p]-cr[p], ai[p]-ci[p]
		ur, ui, vr, vi := br[p]+dr[p], bi[p]+di[p], br[p]-dr[p], bi[p]-di[p]
		w, wj := wr[3*p:3*p+3:3*p+3], wi[3*p:3*p+3:3*p+3]
		or, oi := yr[4*p:4*p+4:4*p+4], yi[4*p:4*p+4:4*p+4]
		or[0], oi[0] = sr+ur, si+ui
		r1, i1 := tr+vi, ti-vr
		r2, i2 := sr-ur, si-ui
		r3, i3 := tr-vi, ti+vr
		or[1], oi[1] = F(r1*w[0])-F(i1*wj[0]), F(r1*wj[0])+F(i1*w[0])
		or[2], oi[2] = F(r2*w[1])-F(i2*wj[1]), F(r2*wj[1])+F(i2*w[1])
		or[3], oi[3] = F(r3*w[2])-F(i3*wj[2]), F(r3*wj[2])+F(i3*w[2])
	}
}

func (st *stage[F]) run4(yr, yi, xr, xi []F) {
	m, s := st.m, st.s
	for p := range m {
		ar, br, cr, dr := xr[s*p:][:s], xr[s*(p+m):][:s], xr[s*(p+2*m):][:s], xr[s*(p+3*m):][:s]
		ai, bi, ci, di := xi[s*p:][:s], xi[s*(p+m):][:s], xi[s*(p+2*m):][:s], xi[s*(p+3*m):][:s]
		or, pr, qr, rr := yr[s*4*p:][:s], yr[s*(4*p+1):][:s], yr[s*(4*p+2):][:s], yr[s*(4*p+3):][:s]
		oi, pi, qi, ri := yi[s*4*p:][:s], yi[s*(4*p+1):][:s], yi[s*(4*p+2):][:s], yi[s*(4*p+3):][:s]
		w1, w2, w3 := st.wr[3*p], st.wr[3*p+1], st.wr[3*p+2]
		v1, v2, v3 := st.wi[3*p], st.wi[3*p+1], st.wi[3*p+2]
		for q := range ar {
			sr, si, tr, ti := ar[q]+cr[q], ai[q]+ci[q], ar[q]-cr[q], ai[q]-ci[q]
			ur, ui, vr, vi := br[q]+dr[q], bi[q]+di[q], br[q]-dr[q], bi[q]-di[q]
			or[q], oi[q] = sr+ur, si+ui
			r1, i1 := tr+vi, ti-vr
			r2, i2 := sr-ur, si-ui
			r3, i3 := tr-vi, ti+vr
			pr[q], pi[q] = F(r1*w1)-F(i1*v1), F(r1*v1)+F(i1*w1)
			qr[q], qi[q] = F(r2*w2)-F(i2*v2), F(r2*v2)+F(i2*w2)
			rr[q], ri[q] = F(r3*w3)-F(i3*v3), F(r3*v3)+F(i3*w3)
		}
	}
}

func (st *stage[F]) run2(yr, yi, xr, xi []F) {
	m, s := st.m, st.s
	for p := range m {
		ar, br, ai, bi := xr[s*p:][:s], xr[s*(p+m):][:s], xi[s*p:][:s], xi[s*(p+m):][:s]
		or, pr, oi, pi := yr[s*2*p:][:s], yr[s*(2*p+1):][:s], yi[s*2*p:][:s], yi[s*(2*p+1):][:s]
		w, v := st.wr[p], st.wi[p]
		for q := range ar {
			r, i := ar[q]-br[q], ai[q]-bi[q]
			or[q], oi[q] = ar[q]+br[q], ai[q]+bi[q]
			pr[q], pi[q] = F(r*w)-F(i*v), F(r*v)+F(i*w)
		}
	}
}

func (st *stage[F]) run3(yr, yi, xr, xi []F) {
	m, s := st.m, st.s
	half := F(math.Sqrt(3) / 2)
	for p := range m {
		ar, br, cr := xr[s*p:][:s], xr[s*(p+m):][:s], xr[s*(p+2*m):][:s]
		ai, bi, ci := xi[s*p:][:s], xi[s*(p+m):][:s], xi[s*(p+2*m):][:s]
		or, pr, qr := yr[s*3*p:][:s], yr[s*(3*p+1):][:s], yr[s*(3*p+2):][:s]
		oi, pi, qi := yi[s*3*p:][:s], yi[s*(3*p+1):][:s], yi[s*(3*p+2):][:s]
		w1, w2, v1, v2 := st.wr[2*p], st.wr[2*p+1], st.wi[2*p], st.wi[2*p+1]
		for q := range ar {
			sr, si := br[q]+cr[q], bi[q]+ci[q]
			dr, di := F(half*(br[q]-cr[q])), F(half*(bi[q]-ci[q]))
			tr, ti := ar[q]-sr/2, ai[q]-si/2
			or[q], oi[q] = ar[q]+sr, ai[q]+si
			r1, i1, r2, i2 := tr+di, ti-dr, tr-di, ti+dr
			pr[q], pi[q] = F(r1*w1)-F(i1*v1), F(r1*v1)+F(i1*w1)
			qr[q], qi[q] = F(r2*w2)-F(i2*v2), F(r2*v2)+F(i2*w2)
		}
	}
}

func (st *stage[F]) run5(yr, yi, xr, xi []F) {
	m, s := st.m, st.s
	c1, s1 := unit(1, 5)
	c2, s2 := unit(2, 5)
	k1, k2, l1, l2 := F(c1), F(c2), F(-s1), F(-s2)
	for p := range m {
		ar, br, cr, dr, er := xr[s*p:][:s], xr[s*(p+m):][:s], xr[s*(p+2*m):][:s], xr[s*(p+3*m):][:s], xr[s*(p+4*m):][:s]
		ai, bi, ci, di, ei := xi[s*p:][:s], xi[s*(p+m):][:s], xi[s*(p+2*m):][:s], xi[s*(p+3*m):][:s], xi[s*(p+4*m):][:s]
		or, pr, qr, rr, tr := yr[s*5*p:][:s], yr[s*(5*p+1):][:s], yr[s*(5*p+2):][:s], yr[s*(5*p+3):][:s], yr[s*(5*p+4):][:s]
		oi, pi, qi, ri, ti := yi[s*5*p:][:s], yi[s*(5*p+1):][:s], yi[s*(5*p+2):][:s], yi[s*(5*p+3):][:s], yi[s*(5*p+4):][:s]
		w, v := st.wr[4*p:4*p+4:4*p+4], st.wi[4*p:4*p+4:4*p+4]
		w1, w2, w3, w4, v1, v2, v3, v4 := w[0], w[1], w[2], w[3], v[0], v[1], v[2], v[3]
		for q := range ar {
			// Sums and differences of the pairs (b, e) and (c, d).
			ber, bei, cdr, cdi := br[q]+er[q], bi[q]+ei[q], cr[q]+dr[q], ci[q]+di[q]
			bdr, bdi, ccr, cci := br[q]-er[q], bi[q]-ei[q], cr[q]-dr[q], ci[q]-di[q]
			or[q], oi[q] = ar[q]+ber+cdr, ai[q]+bei+cdi
			fr, fi := ar[q]+F(k1*ber)+F(k2*cdr), ai[q]+F(k1*bei)+F(k2*cdi)
			gr, gi := ar[q]+F(k2*ber)+F(k1*cdr), ai[q]+F(k2*bei)+F(k1*cdi)
			hr, hi := F(l1*bdr)+F(l2*ccr), F(l1*bdi)+F(l2*cci)
			jr, ji := F(l2*bdr)-F(l1*ccr), F(l2*bdi)-F(l1*cci)
			r1, i1, r4, i4 := fr+hi, fi-hr, fr-hi, fi+hr
			r2, i2, r3, i3 := gr+ji, gi-jr, gr-ji, gi+jr
			pr[q], pi[q] = F(r1*w1)-F(i1*v1), F(r1*v1)+F(i1*w1)
			qr[q], qi[q] = F(r2*w2)-F(i2*v2), F(r2*v2)+F(i2*w2)
			rr[q], ri[q] = F(r3*w3)-F(i3*v3), F(r3*v3)+F(i3*w3)
			tr[q], ti[q] = F(r4*w4)-F(i4*v4), F(r4*v4)+F(i4*w4)
		}
	}
}
