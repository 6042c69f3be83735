package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// An adjoint is one neuron's gradients during a window's backward pass: of its
// state after the tick that comes next in reverse, of rows of h, and of what
// depends on the weights only.
type adjoint[F grad.Float] struct {
	hFinal   []F // [B][D]
	num, den []F // [B][D]
	residual []F // [B][D]
	ssm      []F // [B][D][NS]
	conf     []F // [B]
	util     []F // [B]
	h        []F // [base+rows][D]
	delta    []F // [base+rows][D], option window
	bt       []F // [base+rows][NS]

	x   [2][]F     // [B][in·D] of the last two ticks
	row [2][]int32 // [B]: row of x of a session, or −1

	gain, bias, ew, skip, dtBias, wConf []F // [D]
	a                                   []F // [D][NS]
	gate, mix                           [4]F
	rho, fxaa, cal                      F
	alpha, beta, gamma                  F
}

// clearFor sets all gradients to zero before a backward pass.
func (a *adjoint[F]) clearFor(g *Grid[F], sp *space[F], n int) {
	d, ns, b := g.c.D, g.c.NS, sp.b
	p := &sp.cells[n]
	zero := func(v *[]F, n int) {
		*v = size(*v, n)
		clear(*v)
	}
	for _, v := range []*[]F{&a.hFinal, &a.num, &a.den, &a.residual} {
		zero(v, b*d)
	}
	zero(&a.ssm, b*d*ns)
	zero(&a.conf, b)
	zero(&a.util, b)
	zero(&a.h, (p.base+p.rows)*d)
	if g.c.SSM == "window" {
		zero(&a.delta, (p.base+p.rows)*d)
		zero(&a.bt, (p.base+p.rows)*ns)
	}
	for i := range a.x {
		a.x[i] = size(a.x[i], b*len(g.graph.Incoming(n))*d)
		a.row[i] = size(a.row[i], b)
		for j := range a.row[i] {
			a.row[i][j] = -1
		}
	}
	for _, v := range []*[]F{&a.gain, &a.bias, &a.ew, &a.skip, &a.dtBias, &a.wConf} {
		zero(v, d)
	}
	zero(&a.a, d*ns)
	a.gate, a.mix = [4]F{}, [4]F{}
	a.rho, a.fxaa, a.cal, a.alpha, a.beta, a.gamma = 0, 0, 0, 0, 0, 0
}

// A reverse is one tick of one neuron, backwards.
type reverse[F grad.Float] struct {
	g     *Grid[F]
	l     *lane[F]
	sp    *space[F]
	p     *cell[F]
	a     *adjoint[F]
	n, k  int
	r0, m int
	d     int
}

// backward runs tick k of neuron n in reverse.
func (g *Grid[F]) backward(l *lane[F], sp *space[F], n, k int) {
	p := &sp.cells[n]
	v := reverse[F]{g: g, l: l, sp: sp, p: p, a: &sp.adjoints[n], n: n, k: k, r0: p.start[k], m: p.start[k+1] - p.start[k], d: g.c.D}
	v.pull()
	row := v.a.row[k&1]
	for i := range row {
		row[i] = -1
	}
	if v.m == 0 {
		return
	}
	d, m := v.d, v.m
	clean := l.take(m * d) // gradient of what step 8 reads
	top := l.take(m)       // and of the largest wkv_weight
	v.finish(clean, top)
	v.clean(clean)
	v.recall(clean)
	fused := l.take(m * d)
	v.merge(fused, clean)
	v.correct(fused)
	v.recur(fused, top)
	v.scan(fused)
	v.attend(fused)
	v.products()
	v.norm()
	v.input()
}

// of returns this tick's rows of a tensor.
func (v *reverse[F]) of(x []F, width int) []F { return x[v.r0*width : (v.r0+v.m)*width] }

// session returns what row r's session has in a gradient of the state.
func (v *reverse[F]) session(x []F, r, width int) []F {
	b := int(v.p.sess[r])
	return x[b*width : (b+1)*width : (b+1)*width]
}

// pull adds what others want of this neuron's state after the tick: its readers
// at the tick that follows, and the outputs of the window.
func (v *reverse[F]) pull() {
	g, sp, a, d, k := v.g, v.sp, v.a, v.d, v.k
	if k+1 < sp.ticks {
		lo, hi := g.graph.Outgoing(v.n)
		for e := lo; e < hi; e++ {
			target := int(g.graph.Dst[e])
			other := &sp.adjoints[target]
			width, at := len(g.graph.Incoming(target))*d, g.place[e]
			for b, row := range other.row[(k+1)&1] {
				if row >= 0 {
					dense.Add(a.hFinal[b*d:(b+1)*d], other.x[(k+1)&1][int(row)*width+at*d:][:d])
				}
			}
		}
	}
	if (k+1)%g.c.K != 0 {
		return
	}
	token := (k+1)/g.c.K - 1
	for b := range sp.b {
		at := (token*sp.b+b)*g.c.N + v.n
		if sp.dX != nil {
			dense.Add(a.hFinal[b*d:(b+1)*d], sp.dX[at*d:(at+1)*d])
		}
		if sp.dConf != nil {
			a.conf[b] += sp.dConf[at]
		}
		if sp.dUtil != nil {
			a.util[b] += sp.dUtil[at]
		}
	}
}

// finish goes back through steps 8, 9 and 11.
func (v *reverse[F]) finish(clean, top []F) {
	p, a, d, g := v.p, v.a, v.d, v.g
	al := g.bound.fxaa[v.n]
	wConf, cal := g.w.Rows("n.w_conf", v.n), g.w.Of("s5.calibration")[v.n]
	old, fresh := F(g.c.UtilityEMA), F(1-g.c.UtilityEMA)
	for i := range v.m {
		r := v.r0 + i
		b := int(p.sess[r])
		hs, x := p.hs[r*d:][:d], p.clean[r*d:][:d]
		dhs := v.session(a.hFinal, r, d)

		du := fresh * a.util[b]
		a.util[b] *= old
		level := v.sp.alpha*F(d)*p.top[r] + v.sp.beta*p.sHat[r] + v.sp.gamma*p.pHat[r]
		top[i] = du * p.mean[r] * v.sp.alpha * F(d)
		a.alpha += du * p.mean[r] * F(d) * p.top[r]
		a.beta += du * p.mean[r] * p.sHat[r]
		a.gamma += du * p.mean[r] * p.pHat[r]
		slope := du * level / F(d)

		dq := a.conf[b] * p.conf[r] * (1 - p.conf[r]) / cal
		a.conf[b] = 0
		a.cal -= dq * dense.Dot(wConf, hs) / cal
		f0 := int(p.frames[r*depth(g.c)])
		frame, dFrame := p.h[f0*d:][:d], a.h[f0*d:][:d]
		out := clean[i*d:][:d]
		var dal F
		for j, y := range hs {
			gr := dhs[j] + dq*wConf[j]
			switch {
			case y > 0:
				gr += slope
			case y < 0:
				gr -= slope
			}
			a.wConf[j] += dq * y
			dal += gr * (frame[j] - x[j])
			dFrame[j] += al * gr
			out[j] = (1 - al) * gr
		}
		a.fxaa += dal
		clear(dhs)
	}
}

// clean goes back through step 7, from the gradient of its result to that of
// h_kfe, which takes its place. The confidence before the tick gets what t
// wants.
func (v *reverse[F]) clean(dx []F) {
	if v.g.c.CM == "off" {
		return
	}
	p, d := v.p, v.d
	lo, hi := p.second.start[v.k], p.second.start[v.k+1]
	if m := hi - lo; m > 0 {
		part := v.l.take(m * d)
		for i := range m {
			copy(part[i*d:(i+1)*d], dx[(int(p.second.owner[lo+i])-v.r0)*d:])
		}
		v.step(&p.second, lo, hi, part, .5)
		for i := range m {
			copy(dx[(int(p.second.owner[lo+i])-v.r0)*d:][:d], part[i*d:])
		}
	}
	v.step(&p.first, p.first.start[v.k], p.first.start[v.k+1], dx, 1)
}

// step goes back through rows lo to hi of a pass: dx is the gradient of results,
// and becomes that of inputs. rate is −∂t/∂conf.
func (v *reverse[F]) step(q *pass[F], lo, hi int, dx []F, rate F) {
	d, b, m := v.d, &v.g.bound, hi-lo
	f, z := q.f[lo*d:hi*d], q.z[lo*2*d:hi*2*d]
	dt := v.l.zeros(m)
	for i := range m {
		k := v.g.blendAt(q.t[lo+i])
		row, fi, x := dx[i*d:][:d], f[i*d:][:d], q.x[(lo+i)*d:][:d]
		var df, dskip F
		for j, gr := range row {
			df += gr * fi[j]
			dskip += gr * x[j]
			fi[j] = k.out * gr // the gradient takes the place of f
		}
		dt[i] = k.dOut*df + k.dSkip*dskip
	}
	da := v.l.take(m * 2 * d)
	v.l.work.Mul(da, f, v.g.w.Of("cm.f.2.w"), m, d, 2*d)
	dz := v.l.zeros(m * 2 * d)
	dense.ActivateBack(dense.SiLU, dz, z, da)
	copy(z, dz)
	din := v.l.take(m * d)
	v.l.work.Mul(din, z, b.f1, m, 2*d, d)
	for i := range m {
		k := v.g.blendAt(q.t[lo+i])
		row, x, in := dx[i*d:][:d], q.x[(lo+i)*d:][:d], din[i*d:][:d]
		dt[i] += dense.Dot(z[i*2*d:][:2*d], b.f1Time)
		if k.dIn != 0 {
			dt[i] += k.dIn * dense.Dot(in, x)
		}
		for j, gr := range in {
			row[j] = k.skip*row[j] + k.in*gr
		}
		v.a.conf[v.p.sess[q.owner[lo+i]]] -= rate * dt[i]
	}
}

// recall goes back through step 6, the last row first.
func (v *reverse[F]) recall(dx []F) {
	if v.sp.recallBack == nil {
		return
	}
	p, d := v.p, v.d
	kept := v.l.take(d)
	for i := v.m - 1; i >= 0; i-- {
		row := dx[i*d:][:d]
		copy(kept, row)
		clear(row)
		v.sp.recallBack(v.n, int(p.sess[v.r0+i]), p.was[v.r0+i], row, kept)
	}
}

// merge goes back through step 5: from the gradients of h_mid and of the residual
// to those of h and of the mixed streams.
func (v *reverse[F]) merge(fused, mid []F) {
	p, a, d, b := v.p, v.a, v.d, &v.g.bound
	h00, h01, h10, h11 := b.h[4*v.n], b.h[4*v.n+1], b.h[4*v.n+2], b.h[4*v.n+3]
	for i := range v.m {
		r := v.r0 + i
		h, f := p.h[(p.base+r)*d:][:d], p.fused[r*d:][:d]
		dres, dmid := v.session(a.residual, r, d), mid[i*d:][:d]
		dh, df := a.h[(p.base+r)*d:][:d], fused[i*d:][:d]
		oa, ob, oc, od := p.outA[r*d:][:d], p.outB[r*d:][:d], p.outC[r*d:][:d], p.outD[r*d:][:d]
		var s00, s01, s10, s11, ga, gb, gc, gd F
		for j, gm := range dmid {
			gr, x, y := dres[j], h[j], f[j]
			s00 += gm * x
			s01 += gm * y
			s10 += gr * x
			s11 += gr * y
			dh[j] += h00*gm + h10*gr
			w := h01*gm + h11*gr
			df[j] = w
			ga += w * oa[j]
			gb += w * ob[j]
			gc += w * oc[j]
			gd += w * od[j]
		}
		clear(dres)
		a.mix[0] += s00
		a.mix[1] += s01
		a.mix[2] += s10
		a.mix[3] += s11
		a.gate[0] += ga
		a.gate[1] += gb
		a.gate[2] += gc
		a.gate[3] += gd
	}
}

// products goes back through the products of h, whose gradients are in y.
func (v *reverse[F]) products() {
	p, b, d := v.p, &v.g.bound, v.d
	dh := v.a.h[(p.base+v.r0)*d:][:v.m*d]
	v.l.work.AddMul(dh, v.of(p.y, b.width), b.all[v.n*d*b.width:], v.m, b.width, d)
}

// norm goes back through step 3 and the rest of step 1; the gradient of h_in takes
// the place of h0.
func (v *reverse[F]) norm() {
	p, a, d, c := v.p, v.a, v.d, v.g.c
	gain, field := v.g.w.Rows("n.norm_gain", v.n), v.g.w.Rows("s4.receptive", v.n)
	rho := v.g.bound.rho[v.n]
	for i := range v.m {
		r := v.r0 + i
		x, dh := p.h0[r*d:][:d], a.h[(p.base+r)*d:][:d]
		if c.NormIn {
			inv := p.rms[r]
			var dot F
			for j, gr := range dh {
				gr *= field[j]
				a.gain[j] += gr * x[j] * inv
				gr *= gain[j]
				dot += gr * x[j]
				dh[j] = gr
			}
			dot *= inv * inv / F(d)
			for j, gr := range dh {
				x[j] = inv * (gr - x[j]*dot)
			}
		} else {
			for j, gr := range dh {
				x[j] = gr * field[j]
			}
		}
		dense.Add(a.bias, x)
		if c.RhoOn {
			a.rho += dense.Dot(x, p.res[r*d:][:d])
			dres := v.session(a.residual, r, d)
			for j, gr := range x {
				dres[j] = rho * gr
			}
		}
	}
}

// input goes back to what neighbours sent.
func (v *reverse[F]) input() {
	p, a, d := v.p, v.a, v.d
	width := len(v.g.graph.Incoming(v.n)) * d
	row, dx := a.row[v.k&1], a.x[v.k&1][:v.m*width]
	if v.sp.in.fp8 {
		v.messages(dx)
	} else if width > 0 {
		v.l.work.Mul(dx, v.of(p.h0, d), v.g.maps.m[v.n], v.m, d, width)
	}
	for i := range v.m {
		r := v.r0 + i
		row[p.sess[r]] = int32(i)
		for e, edge := range v.g.graph.Incoming(v.n) {
			part := dx[i*width+e*d:][:d]
			if !v.sp.wasSent(v.k, int(v.g.graph.Src[edge]), int(p.sess[r])) {
				clear(part)
			} else if !v.sp.in.fp8 {
				dense.Scale(part, p.inv[r])
			}
		}
	}
}
