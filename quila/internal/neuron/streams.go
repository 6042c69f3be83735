package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// attend is stream A: attention among the groups of the selected dimensions
//
func (u *turn[F]) attend() {
	p, d, c, t := u.p, u.d, u.g.c, u.t
	k := c.MicroK()
	if t.Phase == 2 {
		k = d
	}
	l := u.l
	if len(l.score) < 2*d {
		l.score = make([]float32, 2*d)
	}
	score, scratch := l.score[:d], l.score[d:2*d]
	for r := u.r0; r < u.r0+u.m; r++ {
		uDim, hDim := u.state(u.s.UDim, r, d), u.state(u.s.HDim, r, d)
		a := t.Alpha * F(d)
		for i, x := range uDim {
			score[i] = float32(a*x + t.Gamma*hDim[i])
		}
		mask := p.mask[r*d:][:d]
		topMask(mask, score, scratch, k)
		h, hm := p.h[(p.base+r)*d:][:d], p.hm[r*d:][:d]
		for i, on := range mask {
			hm[i] = 0
			if on {
				hm[i] = h[i]
			}
		}
	}
	u.l.work.Mul(u.of(p.qkv, 3*d), u.of(p.hm, d), u.g.bound.nsaT[u.n*3*d*d:], u.m, d, 3*d)
	size := c.G
	groups := d / size
	scale := F(1 / math.Sqrt(float64(size)))
	for r := u.r0; r < u.r0+u.m; r++ {
		qkv := p.qkv[r*3*d:][:3*d]
		microLogits(p.attn[r*groups*groups:][:groups*groups], qkv[:d], qkv[d:2*d], p.mask[r*d:][:d], size, scale)
	}
	attn := u.of(p.attn, groups*groups)
	dense.Exp(attn, attn)
	for r := u.r0; r < u.r0+u.m; r++ {
		microMix(p.outA[r*d:][:d], p.attn[r*groups*groups:][:groups*groups], p.qkv[r*3*d+2*d:][:d], size)
	}
}

// masked is a logit whose exponential is zero in both float types.
const masked = -1e30

// microLogits writes the logits of all pairs of groups, less the largest of the
// query. Keys of groups without a selected dimension have none.
func microLogits[F grad.Float](logits, q, k []F, mask []bool, size int, scale F) {
	groups := len(q) / size
	for i := range groups {
		row, qi := logits[i*groups:(i+1)*groups], q[i*size:(i+1)*size]
		top := F(math.Inf(-1))
		for j := range row {
			live := false
			for _, on := range mask[j*size : (j+1)*size] {
				live = live || on
			}
			if !live {
				row[j] = masked
				continue
			}
			var sum F
			kj := k[j*size:][:len(qi)]
			for x, v := range qi {
				sum += v * kj[x]
			}
			row[j] = sum * scale
			top = max(top, row[j])
		}
		for j := range row {
			row[j] -= top
		}
	}
}

// microMix divides the weights of every query by their sum and mixes values.
func microMix[F grad.Float](out, attn, v []F, size int) {
	groups := len(v) / size
	for i := range groups {
		row, o := attn[i*groups:(i+1)*groups], out[i*size:(i+1)*size]
		var sum F
		for _, w := range row {
			sum += w
		}
		sum = 1 / sum
		clear(o)
		for j, w := range row {
			w *= sum
			row[j] = w
			for x, y := range v[j*size:][:len(o)] {
				o[x] += w * y
			}
		}
	}
}

// softplus replaces x by ln(1+eˣ) and writes the derivative. scratch is as long.
func softplus[F grad.Float](x, slope, scratch []F) {
	for i, v := range x {
		if v > 0 {
			v = -v
		}
		scratch[i] = v
	}
	dense.Exp(scratch, scratch)
	for i, e := range scratch {
		v, inv := x[i], 1/(1+e)
		if v > 0 {
			slope[i] = inv
		} else {
			slope[i], v = e*inv, 0
		}
		x[i] = v + log1p(e)
	}
}

// log1p is ln(1+e) for e in [0, 1]: 2·artanh(e ÷ (2+e)), whose argument is at most
// a third, so that nine terms are enough for float32.
func log1p[F grad.Float](e F) F {
	var zero F
	if _, double := any(zero).(float64); double {
		return F(math.Log1p(float64(e)))
	}
	s := e / (2 + e)
	q := s * s
	return 2 * s * (1 + q*(1./3+q*(1./5+q*(1./7+q*(1./9+q*(1./11+q*(1./13+q*(1./15+q*(1./17)))))))))
}

// steps computes Δ and exp(Δ·A) of rows of h from lo to hi, whose columns of
// W_Δ↓ are in dtc.
func (u *turn[F]) steps(lo, hi int) {
	p, d, b, c := u.p, u.d, &u.g.bound, u.g.c
	ns, dt, m := c.NS, c.DT(), hi-lo
	delta := p.delta[lo*d : hi*d]
	u.l.work.Mul(delta, p.dtc[lo*dt:], b.dtUpT[u.n*dt*d:], m, dt, d)
	bias := u.g.w.Rows("n.ssm.dt_b", u.n)
	for r := range m {
		dense.Add(delta[r*d:(r+1)*d], bias)
	}
	softplus(delta, p.slope[lo*d:hi*d], u.l.take(m*d))
	decay, a := p.decay[lo*d*ns:hi*d*ns], b.a[u.n*d*ns:(u.n+1)*d*ns]
	for r := range m {
		row, out := delta[r*d:(r+1)*d], decay[r*d*ns:][:d*ns]
		for i, x := range row {
			for j := i * ns; j < (i+1)*ns; j++ {
				out[j] = x * a[j]
			}
		}
	}
	dense.Exp(decay, decay)
}

// scan is stream B.
func (u *turn[F]) scan() {
	p, d, b, c := u.p, u.d, &u.g.bound, u.g.c
	ns, dt := c.NS, c.DT()
	lo := p.base + u.r0
	for r := range u.m {
		y := p.y[(u.r0+r)*b.width:]
		copy(p.bt[(lo+r)*ns:(lo+r+1)*ns], y[b.b:])
		copy(p.dtc[(lo+r)*dt:(lo+r+1)*dt], y[b.dt:])
	}
	u.steps(lo, lo+u.m)
	skip := u.g.w.Rows("n.ssm.skip", u.n)
	window := c.SSM == "window"
	for r := u.r0; r < u.r0+u.m; r++ {
		ct := p.y[r*b.width+b.c:][:ns]
		keep := p.ssm[r*d*ns:][:d*ns]
		h, out := p.h[(p.base+r)*d:][:d], p.outB[r*d:][:d]
		if window {
			u.scanFrames(keep, r)
		} else {
			state := u.state(u.s.SSM, r, d*ns)
			copy(keep, state)
			u.scanStep(state, p.base+r)
			keep = state
		}
		for i, x := range h {
			sum := skip[i] * x
			for j, v := range keep[i*ns : (i+1)*ns] {
				sum += v * ct[j]
			}
			out[i] = sum
		}
	}
}

// scanStep advances a state by row q of h.
func (u *turn[F]) scanStep(state []F, q int) {
	p, d, ns := u.p, u.d, u.g.c.NS
	h, delta, decay, bt := p.h[q*d:][:d], p.delta[q*d:][:d], p.decay[q*d*ns:][:d*ns], p.bt[q*ns:][:ns]
	for i, x := range h {
		dx := delta[i] * x
		for j, v := range bt {
			state[i*ns+j] = decay[i*ns+j]*state[i*ns+j] + dx*v
		}
	}
}

// scanFrames scans the frames of row r, the oldest first, and then its h.
func (u *turn[F]) scanFrames(state []F, r int) {
	clear(state)
	frames := u.p.frames[r*u.s.Depth : (r+1)*u.s.Depth]
	for j := len(frames) - 1; j >= 0; j-- {
		u.scanStep(state, int(frames[j]))
	}
	u.scanStep(state, u.p.base+r)
}

// recur is stream C.
func (u *turn[F]) recur() {
	p, d, b, c := u.p, u.d, &u.g.bound, u.g.c
	limit, ew := F(c.KMax), b.ew[u.n*d:][:d]
	for r := u.r0; r < u.r0+u.m; r++ {
		y := p.y[r*b.width:]
		copy(p.sr[r*d:(r+1)*d], y[b.r:])
		ek := p.ek[r*d : (r+1)*d]
		for i, k := range y[b.k:][:d] {
			ek[i] = min(k, limit)
		}
	}
	ek, sr := u.of(p.ek, d), u.of(p.sr, d)
	dense.Exp(ek, ek)
	dense.Activate(dense.Sigmoid, sr, sr)
	for r := u.r0; r < u.r0+u.m; r++ {
		v, ek := p.y[r*b.width+b.v:][:d], p.ek[r*d:][:d]
		num, den := u.state(u.s.Num, r, d), u.state(u.s.Den, r, d)
		kept, wkv := p.num[r*d:][:d], p.wkv[r*d:][:d]
		copy(kept, num)
		if c.WKV == "rwkv4" {
			was := p.den[r*d:][:d]
			copy(was, den)
			for i, e := range ek {
				wkv[i] = (ew[i]*e*v[i] + kept[i]) / max(ew[i]*e+was[i], tiny)
			}
		} else {
			for i, e := range ek {
				wkv[i] = ew[i]*e*v[i] + kept[i]
			}
		}
		for i, e := range ek {
			num[i] = ew[i]*kept[i] + e*v[i]
			den[i] = ew[i]*den[i] + e
		}
		w := p.p[r*d:][:d]
		dense.Softmax(w, wkv)
		at := 0
		for i, x := range w {
			if x > w[at] {
				at = i
			}
		}
		p.top[r], p.topAt[r] = w[at], int32(at)
	}
	act, wkv := u.of(p.act, d), u.of(p.wkv, d)
	switch c.WKV {
	case "literal":
		dense.Activate(dense.Sigmoid, act, wkv)
	case "tanh":
		dense.Activate(dense.Tanh, act, wkv)
	default:
		copy(act, wkv)
	}
	dense.Mul(u.of(p.outC, d), sr, act)
}

// tiny bounds denominators.
const tiny = 1e-12

// correct is stream D: x ← x + W_corr·h − Q·x until the count of the
// confidence, or until the iterate stands still.
func (u *turn[F]) correct() {
	p, d, b, c := u.p, u.d, &u.g.bound, u.g.c
	early := u.t.Phase != 2
	q := &p.drc
	if len(u.l.ints) < u.m {
		u.l.ints = make([]int32, 2*u.m)
	}
	active := u.l.ints[:0]
	for r := u.r0; r < u.r0+u.m; r++ {
		h, x := p.h[(p.base+r)*d:][:d], p.outD[r*d:][:d]
		y := p.y[r*b.width:]
		ch, qh := y[b.ch:][:d], y[b.qh:][:d]
		for i, v := range h {
			x[i] = v + (ch[i] - qh[i])
		}
		n := iterations(c, float32(u.state(u.s.Conf, r, 1)[0]), u.t.Phase)
		q.n0[r], q.done[r] = int32(n), 1
		if n > 1 && !(early && still(x, h)) {
			active = append(active, int32(r))
		}
	}
	product := u.l.take(u.m * d)
	for len(active) > 0 {
		m, lo := len(active), q.n
		q.x, q.owner = more(q.x, lo*d, m*d), more(q.owner, lo, m)
		q.n += m
		for i, r := range active {
			q.owner[lo+i] = r
			copy(q.x[(lo+i)*d:(lo+i+1)*d], p.outD[int(r)*d:])
		}
		u.l.work.Mul(product, q.x[lo*d:], b.qT[u.n*d*d:], m, d, d)
		next := active[:0]
		for i, r := range active {
			r := int(r)
			x, ch := p.outD[r*d:][:d], p.y[r*b.width+b.ch:][:d]
			for j, v := range product[i*d:][:d] {
				x[j] += ch[j] - v
			}
			q.done[r]++
			if q.done[r] < q.n0[r] && !(early && still(x, q.x[(lo+i)*d:][:d])) {
				next = append(next, int32(r))
			}
		}
		active = next
	}
}

// still reports whether an iterate has the direction of the one before.
func still[F grad.Float](x, before []F) bool {
	var dot, a, b F
	for i, v := range x {
		w := before[i]
		dot += v * w
		a += v * v
		b += w * w
	}
	norm := math.Sqrt(float64(a)) * math.Sqrt(float64(b))
	return float64(dot)/max(norm, tiny) > .999
}
