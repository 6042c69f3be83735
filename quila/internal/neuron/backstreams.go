package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// correct goes back through stream D: executed iterations only, the last first.
// Gradients of W_corr·h and Q·h go to y.
func (v *reverse[F]) correct(fused []F) {
	p, d, b := v.p, v.d, &v.g.bound
	q, gate := &p.drc, b.gate[4*v.n+3]
	dx, dch := v.l.take(v.m*d), v.l.zeros(v.m*d)
	for i, x := range fused {
		dx[i] = gate * x
	}
	q.g = more(q.g, 0, q.n*d)
	hi, lo := q.start[v.k+1], q.start[v.k]
	part := v.l.take(v.m * d)
	for hi > lo {
		from := hi - 1 // the rows of one iteration ascend
		for from > lo && q.owner[from-1] < q.owner[from] {
			from--
		}
		m := hi - from
		for e := from; e < hi; e++ {
			i := int(q.owner[e]) - v.r0
			copy(q.g[e*d:(e+1)*d], dx[i*d:])
			dense.Add(dch[i*d:(i+1)*d], dx[i*d:(i+1)*d])
		}
		v.l.work.Mul(part, q.g[from*d:], b.q[v.n*d*d:], m, d, d)
		for e := from; e < hi; e++ {
			i := int(q.owner[e]) - v.r0
			dense.Axpy(dx[i*d:(i+1)*d], -1, part[(e-from)*d:][:d])
		}
		hi = from
	}
	for i := range v.m {
		y := p.y[(v.r0+i)*b.width:]
		row := dx[i*d:][:d]
		dense.Add(v.a.h[(p.base+v.r0+i)*d:][:d], row)
		ch, qh, more := y[b.ch:][:d], y[b.qh:][:d], dch[i*d:][:d]
		for j, x := range row {
			ch[j] = more[j] + x
			qh[j] = -x
		}
	}
}

// recur goes back through stream C. Gradients of r, k and v take their places in
// y.
func (v *reverse[F]) recur(fused, top []F) {
	p, a, d, b, c := v.p, v.a, v.d, &v.g.bound, v.g.c
	gate, limit := b.gate[4*v.n+2], F(c.KMax)
	ew := b.ew[v.n*d:][:d]
	for i := range v.m {
		r := v.r0 + i
		y := p.y[r*b.width:]
		yr, yk, yv := y[b.r:][:d], y[b.k:][:d], y[b.v:][:d]
		sr, act, ek, num := p.sr[r*d:][:d], p.act[r*d:][:d], p.ek[r*d:][:d], p.num[r*d:][:d]
		w, df := p.p[r*d:][:d], fused[i*d:][:d]
		dNum, dDen := v.session(a.num, r, d), v.session(a.den, r, d)
		share := top[i] * p.top[r]
		at := int(p.topAt[r])
		for j, s := range sr {
			g := gate * df[j]
			dwkv := g * s
			switch c.WKV {
			case "literal":
				dwkv *= act[j] * (1 - act[j])
			case "tanh":
				dwkv *= 1 - act[j]*act[j]
			}
			dwkv -= share * w[j]
			if j == at {
				dwkv += share
			}
			value, e, dn := yv[j], ek[j], dNum[j]
			var dek F
			dTop := dwkv // gradient of ew·ek·v + num
			if c.WKV == "rwkv4" {
				den := p.den[r*d+j]
				bottom := ew[j]*e + den
				dTop = dwkv / max(bottom, tiny)
				dd := dDen[j]
				var db F
				if bottom >= tiny {
					db = -dTop * p.wkv[r*d+j]
				}
				dek = ew[j]*db + dd
				a.ew[j] += db*e + dd*den
				dDen[j] = db + ew[j]*dd
			}
			z := e * value
			dz := ew[j]*dTop + dn
			a.ew[j] += dTop*z + dn*num[j]
			dNum[j] = dTop + ew[j]*dn
			dek += dz * value
			if yk[j] > limit {
				dek = 0
			}
			yr[j] = g * act[j] * s * (1 - s)
			yk[j] = dek * e
			yv[j] = dz * e
		}
	}
}

// scan goes back through stream B. Gradients of B, C and the columns of W_Δ↓ take
// their places in y, those of Δ before softplus the place of Δ.
func (v *reverse[F]) scan(fused []F) {
	p, a, d, b, c := v.p, v.a, v.d, &v.g.bound, v.g.c
	ns, dt := c.NS, c.DT()
	gate := b.gate[4*v.n+1]
	skip := v.g.w.Rows("n.ssm.skip", v.n)
	window := c.SSM == "window"
	back := v.l.take(d * ns)
	dct, dbt, dDelta := v.l.take(ns), v.l.take(ns), v.l.take(d)
	var states []F
	if window {
		states = v.l.take((depth(c) + 1) * d * ns)
	}
	for i := range v.m {
		r := v.r0 + i
		q := p.base + r
		y := p.y[r*b.width:]
		ct := y[b.c:][:ns]
		h, dh, df := p.h[q*d:][:d], a.h[q*d:][:d], fused[i*d:][:d]
		clear(dct)
		if window {
			v.scanFrames(back, states, dct, df, gate, r)
		} else {
			clear(dbt)
			state, delta, decay, bt := p.ssm[r*d*ns:][:d*ns], p.delta[q*d:][:d], p.decay[q*d*ns:][:d*ns], p.bt[q*ns:][:ns]
			rates, da := b.a[v.n*d*ns:][:d*ns], a.a
			dState := v.session(a.ssm, r, d*ns)
			for j, x := range h {
				do := gate * df[j]
				a.skip[j] += do * x
				dl := delta[j]
				dx := dl * x
				var ddx, dd F
				for s := range ns {
					k := j*ns + s
					e, was := decay[k], state[k]
					ds := dState[k] + do*ct[s]
					dct[s] += do * (e*was + dx*bt[s])
					de := ds * was * e
					dState[k] = ds * e
					dbt[s] += ds * dx
					ddx += ds * bt[s]
					dd += de * rates[k]
					da[k] += de * dl
				}
				dDelta[j] = dd + ddx*x
				dh[j] += do*skip[j] + ddx*dl
			}
		}
		if window {
			for j, x := range h {
				do := gate * df[j]
				a.skip[j] += do * x
				dh[j] += do * skip[j]
			}
			copy(dDelta, a.delta[q*d:][:d])
			copy(dbt, a.bt[q*ns:][:ns])
		}
		copy(ct, dct)
		copy(y[b.b:][:ns], dbt)
		v.stepBack(y[b.dt:][:dt], dDelta, q)
	}
}

// stepBack goes back through softplus and W_Δ↑ of row q of h.
func (v *reverse[F]) stepBack(ddt, dDelta []F, q int) {
	p, d, dt := v.p, v.d, v.g.c.DT()
	slope, pre := p.slope[q*d:][:d], p.delta[q*d:][:d]
	for j, g := range dDelta {
		g *= slope[j]
		pre[j] = g
		v.a.dtBias[j] += g
	}
	up := v.g.bound.dtUpT[v.n*dt*d:]
	for t := range ddt {
		ddt[t] = dense.Dot(pre, up[t*d:(t+1)*d])
	}
}

// scanFrames goes back through the nine steps of row r, whose states it computes
// again.
func (v *reverse[F]) scanFrames(back, states, dct, df []F, gate F, r int) {
	p, a, d, b, c := v.p, v.a, v.d, &v.g.bound, v.g.c
	ns := c.NS
	width := d * ns
	deep := depth(c)
	frames := p.frames[r*deep : (r+1)*deep]
	row := func(i int) int { // of step i of nine
		if i < deep {
			return int(frames[deep-1-i])
		}
		return p.base + r
	}
	clear(states[:width])
	for i := range deep { // the state before step i+1
		q := row(i)
		from, to := states[i*width:][:width], states[(i+1)*width:][:width]
		h, delta, decay, bt := p.h[q*d:][:d], p.delta[q*d:][:d], p.decay[q*width:][:width], p.bt[q*ns:][:ns]
		for j, x := range h {
			dx := delta[j] * x
			for s, w := range bt {
				to[j*ns+s] = decay[j*ns+s]*from[j*ns+s] + dx*w
			}
		}
	}
	ct := p.y[r*b.width+b.c:][:ns]
	last := p.ssm[r*width:][:width]
	for j := range d {
		do := gate * df[j]
		for s := range ns {
			back[j*ns+s] = do * ct[s]
			dct[s] += do * last[j*ns+s]
		}
	}
	rates := b.a[v.n*width:][:width]
	for i := deep; i >= 0; i-- {
		q := row(i)
		h, dh := p.h[q*d:][:d], a.h[q*d:][:d]
		delta, dDelta := p.delta[q*d:][:d], a.delta[q*d:][:d]
		decay, bt, dbt, state := p.decay[q*width:][:width], p.bt[q*ns:][:ns], a.bt[q*ns:][:ns], states[i*width:][:width]
		for j, x := range h {
			var ddx, dd F
			dl := delta[j]
			for s := range ns {
				k := j*ns + s
				ds, e := back[k], decay[k]
				de := ds * state[k] * e
				back[k] = ds * e
				dbt[s] += ds * dl * x
				ddx += ds * bt[s]
				dd += de * rates[k]
				a.a[k] += de * dl
			}
			dDelta[j] += dd + ddx*x
			dh[j] += ddx * dl
		}
	}
}

// attend goes back through stream A; gradients of queries, keys and values take
// their places. Dimensions that were not selected get nothing.
func (v *reverse[F]) attend(fused []F) {
	p, d, c, b := v.p, v.d, v.g.c, &v.g.bound
	gate := b.gate[4*v.n]
	groups := d / c.G
	scale := F(1 / math.Sqrt(float64(c.G)))
	out := v.l.take(4 * d)
	dlogits := v.l.take(groups * groups)
	for i := range v.m {
		r := v.r0 + i
		do := out[:d]
		for j, g := range fused[i*d:][:d] {
			do[j] = gate * g
		}
		microBack(out[d:], dlogits, do, p.qkv[r*3*d:][:3*d], p.attn[r*groups*groups:][:groups*groups], c.G, scale)
		copy(p.qkv[r*3*d:][:3*d], out[d:])
	}
	dhm := v.l.take(v.m * d)
	v.l.work.Mul(dhm, v.of(p.qkv, 3*d), v.g.w.Rows("n.nsa", v.n), v.m, 3*d, d)
	mask := p.mask[v.r0*d : (v.r0+v.m)*d]
	dh := v.a.h[(p.base+v.r0)*d:][:v.m*d]
	for i, on := range mask {
		if on {
			dh[i] += dhm[i]
		}
	}
}

// microBack writes the gradients of queries, keys and values of one row.
func microBack[F grad.Float](dqkv, dlogits, do, qkv, attn []F, size int, scale F) {
	d := len(do)
	groups := d / size
	q, k, v := qkv[:d], qkv[d:2*d], qkv[2*d:3*d]
	dq, dk, dv := dqkv[:d], dqkv[d:2*d], dqkv[2*d:3*d]
	clear(dqkv[:3*d])
	for i := range groups {
		doi := do[i*size : (i+1)*size]
		row, dl := attn[i*groups:(i+1)*groups], dlogits[i*groups:(i+1)*groups]
		var mean F
		for j, w := range row {
			var dot F
			vj, dvj := v[j*size:][:len(doi)], dv[j*size:][:len(doi)]
			for x, g := range doi {
				dot += g * vj[x]
				dvj[x] += w * g
			}
			dl[j] = dot
			mean += w * dot
		}
		qi, dqi := q[i*size:(i+1)*size], dq[i*size:(i+1)*size]
		for j, w := range row {
			g := w * (dl[j] - mean) * scale
			if g == 0 {
				continue
			}
			kj, dkj := k[j*size:][:len(qi)], dk[j*size:][:len(qi)]
			for x, y := range qi {
				dqi[x] += g * kj[x]
				dkj[x] += g * y
			}
		}
	}
}
