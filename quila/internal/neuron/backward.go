package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// backward adds the gradients of a window's inputs and weights, given those of
// its outputs in r.do and r.dcu.
func (r *run[F]) backward(work *grad.Work[F], dw [][tCount][]F) {
	c := r.p.Config
	d, n, m, tb := c.D, c.N, portStreams(c), r.t*r.b
	for i := range r.ports {
		q := &r.ports[i]
		if q.Kind == Thinker {
			copy(q.do, r.do[(q.Slot-1)*tb*d:][:tb*d])
		} else {
			clear(q.do)
		}
	}
	clear(r.dhist)
	r.each(stepsBack, 0, r.b, r.perThread(r.b))
	for i := range r.ports {
		q, g := &r.ports[i], &r.ports[i].g
		g.clear(c)
		r.each(scanNeuronsBack, i, tb, 16)
		work.AddTMul(g.kv, q.dev, r.x, 2*d, tb*n, d)
		if r.dx != nil {
			work.AddMul(r.dx, q.dev, q.fold.kv, tb*n, 2*d, d)
		}
		if q.Kind != Analysis {
			if m == n {
				work.AddTMul(g.rows, q.do, r.x, d, tb, n*d)
				if r.dx != nil {
					work.AddMul(r.dx, q.do, q.fold.rows, tb, d, n*d)
				}
			} else {
				work.AddTMul(g.rows, q.do, q.sel, d, tb, m*d)
			}
			work.AddTMul(g.a, q.dq, r.table(q.Slot), d, tb, d)
		}
		work.AddTMul(g.out, q.do, q.ay, d, tb, 2*d)
		for j, s := range q.Visible {
			work.AddTMul(g.s, q.dg[j*tb*3*d:][:tb*3*d], r.table(s), 3*d, tb, d)
		}
		if len(q.Visible) == 0 {
			work.AddTMul(g.wr, q.dr, q.lastx, d, tb, d)
			if r.dx != nil {
				r.lastBack(work, q)
			}
		}
		r.sums(q, i)
		q.fold.unfold(c, work, g, &dw[i], len(q.Visible) > 0)
	}
}

// table is a slot before every step: [T·B, D].
func (r *run[F]) table(s int) []F {
	size := r.b * r.p.Config.D
	return r.hist[s*(r.t+1)*size:][:r.t*size]
}

// lastBack adds the gradient of the receptance's neuron.
func (r *run[F]) lastBack(work *grad.Work[F], q *state[F]) {
	d, n, last := r.p.Config.D, r.p.Config.N, r.last()
	tb := r.t * r.b
	work.Mul(q.lastx, q.dr, q.fold.w[tWR], tb, d, d)
	for j := range tb {
		dense.Add(r.dx[(j*n+last)*d:][:d], q.lastx[j*d:][:d])
	}
}

// sums adds up the gradients that are vectors, over rows in order.
func (r *run[F]) sums(q *state[F], port int) {
	d, n, tb := r.p.Config.D, r.p.Config.N, r.t*r.b
	g := &q.g
	for j := range tb {
		dense.Add(g.cb, q.do[j*d:][:d])
		p := r.partial[(port*tb+j)*(d+3):][:d+3]
		dense.Add(g.back, p[:d])
		g.alpha, g.beta, g.gamma = g.alpha+p[d], g.beta+p[d+1], g.gamma+p[d+2]
		for i := range n {
			dense.Axpy(g.decay, q.age[i], q.dev[(j*n+i)*2*d:][:d])
		}
		for s := range q.Visible {
			dense.Axpy(g.decay, q.age[n+s], q.dg[(s*tb+j)*3*d:][:d])
		}
	}
}

// stepsBack goes through the steps of the sequences [lo, hi) in reverse.
func (r *run[F]) stepsBack(k *desk[F], lo, hi int) {
	size := r.p.Slots() * r.b * r.p.Config.D
	for t := r.t - 1; t >= 0; t-- {
		now, before := r.dhist[(t+1)&1*size:][:size], r.dhist[t&1*size:][:size]
		for s := range r.p.Slots() {
			clear(r.dslot(before, s, lo, hi))
		}
		for i := range r.ports {
			q := &r.ports[i]
			r.alignBack(k, q, i, t, lo, hi, now, before)
			r.attendBack(k, q, i, t, lo, hi, before)
			r.scanBack(k, q, t, lo, hi, before)
		}
	}
}

func (r *run[F]) dslot(table []F, s, lo, hi int) []F {
	d := r.p.Config.D
	return table[(s*r.b+lo)*d : (s*r.b+hi)*d]
}

func (r *run[F]) alignBack(k *desk[F], q *state[F], port, t, lo, hi int, now, before []F) {
	d, all := r.p.Config.D, r.t*r.b
	back := q.fold.back
	for b := lo; b < hi; b++ {
		tb := t*r.b + b
		do, ds := q.do[tb*d:][:d], r.dslot(now, q.Slot, b, b+1)
		db := r.partial[(port*all+tb)*(d+3):][:d]
		if !q.far[tb] {
			clear(db)
			dense.Add(do, ds)
			continue
		}
		o, other := q.o[tb*d:][:d], r.other(k, q, t, b)
		for i, g := range ds {
			db[i] = g * (o[i] - other[i])
			do[i] += g * back[i]
		}
		share := 1 / F(len(q.Other))
		for _, s := range q.Other {
			to := r.dslot(before, s, b, b+1)
			for i, g := range ds {
				to[i] += share * g * (1 - back[i])
			}
		}
	}
}

// attendBack leaves the gradients of the attention's logits and query, of the
// neurons' mean weights and of α, β and γ, and adds that of the own slot. k.g
// receives the gradients of aggr and of the mean of rows.
func (r *run[F]) attendBack(k *desk[F], q *state[F], port, t, lo, hi int, before []F) {
	c := r.p.Config
	d, n, m, rows, at, all := c.D, c.N, portStreams(c), hi-lo, t*r.b+lo, r.t*r.b
	do := q.do[at*d : (at+rows)*d]
	day := sized(&k.g, rows*2*d)
	k.work.Mul(day, do, q.fold.out, rows, d, 2*d)
	if q.Kind != Analysis && m < n && r.dx != nil {
		k.work.Mul(q.dsel[at*m*d:(at+rows)*m*d], do, q.fold.rows, rows, d, m*d)
	}
	root := F(1 / math.Sqrt(float64(d)))
	for i := range rows {
		tb := at + i
		dy, dq := q.dy[tb*d:][:d], q.dq[tb*d:][:d]
		dl, dwm, w := q.dl[tb*n:][:n], q.dwm[tb*n:][:n], q.nw[tb*n:][:n]
		part := r.partial[(port*all+tb)*(d+3)+d:][:3]
		clear(part)
		clear(dq)
		if q.Kind == Analysis {
			clear(dl)
			clear(dwm)
			clear(dy)
			continue
		}
		copy(dy, day[(2*i+1)*d:][:d])
		var dconf, dutil F
		if q.Kind == Thinker {
			dconf, dutil = r.dcu[(q.Slot-1)*all+tb], r.dcu[(c.Thinkers+q.Slot-1)*all+tb]
		}
		var dot F
		for j, s := range w {
			dl[j] = 0
			if s == 0 {
				continue
			}
			g := dense.Dot(dy, r.x[(tb*n+j)*d:][:d]) + dconf*r.conf[tb*n+j]
			if r.util != nil {
				g += dutil * r.util[tb*n+j]
			}
			dl[j] = g
			dot += s * g
		}
		nt, np, wm := r.nt[tb*n:][:n], r.np[tb*n:][:n], q.wm[tb*n:][:n]
		for j, s := range w {
			dwm[j] = 0
			if s == 0 {
				continue
			}
			g := s * (dl[j] - dot)
			dl[j] = g
			dense.Axpy(dq, g*root, r.x[(tb*n+j)*d:][:d])
			if u := q.u[tb*n+j]; float64(u) >= leastUtility {
				du := g / u
				dwm[j] = du * q.fold.alpha * F(n)
				part[0] += du * F(n) * wm[j]
				part[1] += du * nt[j]
				part[2] += du * np[j]
			}
		}
	}
	if q.Kind != Analysis {
		k.work.AddMul(r.dslot(before, q.Slot, lo, hi), q.dq[at*d:(at+rows)*d], q.fold.a, rows, d, d)
	}
}

// scanBack leaves what the gradients of the neurons' keys and values are made of,
// and adds those of the slots seen. k.g has the gradient of aggr.
func (r *run[F]) scanBack(k *desk[F], q *state[F], t, lo, hi int, before []F) {
	c := r.p.Config
	d, n, v, rows, at, all := c.D, c.N, len(q.Visible), hi-lo, t*r.b+lo, r.t*r.b
	for i := range rows {
		tb := at + i
		daggr := k.g[2*i*d:][:d]
		rec, pooled := q.r[tb*d:][:d], q.pooled[tb*d:][:d]
		dpool, dot, scale := q.dpool[tb*d:][:d], q.dot[tb*d:][:d], q.scale[tb*d:][:d]
		dr := q.dr[tb*d:][:d]
		copy(dr, pooled)
		if c.Aggr == "sigmoid" {
			logistics(dr)
			for j, a := range dr {
				dpool[j] = daggr[j] * rec[j] * a * (1 - a)
			}
		} else {
			dense.Mul(dpool, daggr, rec)
		}
		for j, a := range dr {
			dr[j] = daggr[j] * a * rec[j] * (1 - rec[j])
		}
		clear(dot)
		for j, g := range q.dwm[tb*n:][:n] {
			if g != 0 {
				dense.Axpy(dot, g/F(d), q.ev[(tb*n+j)*2*d:][:d])
			}
		}
		dense.Mul(dot, dot, scale)
		dense.AddMul(dot, dpool, pooled)
		for s := range v {
			ws, vs := q.ws[(tb*v+s)*d:][:d], q.vs[(tb*v+s)*d:][:d]
			g := q.dg[(s*all+tb)*3*d:][:3*d]
			for j, w := range ws {
				g[j] = w * (dpool[j]*vs[j] - dot[j])
				g[d+j] = w * dpool[j]
			}
			if s == v-1 {
				copy(g[2*d:], dr)
			} else {
				clear(g[2*d:])
			}
		}
	}
	for j, s := range q.Visible {
		k.work.AddMul(r.dslot(before, s, lo, hi), q.dg[(j*all+at)*3*d:][:rows*3*d], q.fold.s, rows, 3*d, d)
	}
}

// neuronsBack writes the gradients of the keys and values of row tb, and adds
// those of its neurons' states and confidences in the attention.
func (r *run[F]) neuronsBack(q *state[F], tb int) {
	c := r.p.Config
	d, n, m, all := c.D, c.N, portStreams(c), r.t*r.b
	dpool, dot, scale := q.dpool[tb*d:][:d], q.dot[tb*d:][:d], q.scale[tb*d:][:d]
	for i := range n {
		ev, dev := q.ev[(tb*n+i)*2*d:][:2*d], q.dev[(tb*n+i)*2*d:][:2*d]
		e, v, dk, dv := ev[:d], ev[d:2*d], dev[:d], dev[d:2*d]
		mean := q.dwm[tb*n+i] / F(d)
		dense.Mul(dv, dpool, v) // until the weights are in
		for j, x := range dv {
			w := e[j] * scale[j]
			dk[j] = w * (x + mean - dot[j])
			dv[j] = w * dpool[j]
		}
	}
	if q.Kind == Analysis {
		return
	}
	w, dl := q.nw[tb*n:][:n], q.dl[tb*n:][:n]
	if r.dx != nil {
		root := F(1 / math.Sqrt(float64(d)))
		dy, qp := q.dy[tb*d:][:d], q.qp[tb*d:][:d]
		for i, s := range w {
			if s == 0 {
				continue
			}
			dx := r.dx[(tb*n+i)*d:][:d]
			dense.Axpy(dx, s, dy)
			dense.Axpy(dx, dl[i]*root, qp)
		}
		if m < n {
			for a, j := range q.idx[tb*m:][:m] {
				if j >= 0 {
					dense.Add(r.dx[(tb*n+int(j))*d:][:d], q.dsel[(tb*m+a)*d:][:d])
				}
			}
		}
	}
	if q.Kind != Thinker {
		return
	}
	if g := r.dcu[(q.Slot-1)*all+tb]; r.dconf != nil && g != 0 {
		dense.Axpy(r.dconf[tb*n:][:n], g, w)
	}
	if g := r.dcu[(c.Thinkers+q.Slot-1)*all+tb]; r.dutil != nil && g != 0 {
		dense.Axpy(r.dutil[tb*n:][:n], g, w)
	}
}
