package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A stage is what [run.Range] does with a part of the rows.
type stage uint8

const (
	scanNeurons     stage = iota // rows of T·B
	steps                        // sequences
	stepsBack                    // sequences
	scanNeuronsBack              // rows of T·B
)

// Range implements [grad.Ranger].
func (r *run[F]) Range(worker, lo, hi int) {
	k := r.p.desks[worker]
	switch r.stage {
	case scanNeurons:
		r.neurons(k, &r.ports[r.portAt], lo, hi)
	case steps:
		for t := range r.t {
			r.step(k, t, lo, hi)
		}
	case stepsBack:
		r.stepsBack(k, lo, hi)
	case scanNeuronsBack:
		for tb := lo; tb < hi; tb++ {
			r.neuronsBack(&r.ports[r.portAt], tb)
		}
	}
}

// each runs a stage over n rows; a part has at least grain of them.
func (r *run[F]) each(s stage, port, n, grain int) {
	r.stage, r.portAt = s, port
	r.p.threads.Range(n, grain, r)
}

// perThread divides n rows evenly.
func (r *run[F]) perThread(n int) int {
	c := r.p.threads.Count()
	return (n + c - 1) / c
}

// forward computes the window.
func (r *run[F]) forward(work *grad.Work[F]) {
	c := r.p.Config
	d, n, tb := c.D, c.N, r.t*r.b
	for i := range r.ports {
		q := &r.ports[i]
		work.MulT(q.ev, r.x, q.fold.kv, tb*n, d, 2*d)
		r.each(scanNeurons, i, tb, 16)
		if len(q.Visible) == 0 {
			last := r.last()
			for j := range tb {
				copy(q.lastx[j*d:][:d], r.x[(j*n+last)*d:])
			}
			work.MulT(q.r, q.lastx, q.fold.w[tWR], tb, d, d)
			logistics(q.r)
		}
		if q.Kind != Analysis && portStreams(c) == n {
			work.MulT(q.rowsx, r.x, q.fold.rows, tb, n*d, d)
		} else {
			clear(q.rowsx)
		}
		for j := range tb {
			dense.Add(q.rowsx[j*d:][:d], q.fold.w[tCompressB])
		}
	}
	r.each(steps, 0, r.b, r.perThread(r.b))
}

// neurons computes the softmax over neurons of rows of T·B, to be rescaled when
// the slots are known.
func (r *run[F]) neurons(k *desk[F], q *state[F], lo, hi int) {
	d, n := r.p.Config.D, r.p.Config.N
	for tb := lo; tb < hi; tb++ {
		top, den, num := q.top[tb*d:][:d], q.den[tb*d:][:d], q.num[tb*d:][:d]
		for i := range n {
			key := q.ev[(tb*n+i)*2*d:][:d]
			dense.Axpy(key, q.age[i], q.fold.decay)
			if i == 0 {
				copy(top, key)
				continue
			}
			for j, x := range key {
				top[j] = max(top[j], x)
			}
		}
		clear(den)
		clear(num)
		for i := range n {
			row := q.ev[(tb*n+i)*2*d:][:2*d]
			key := row[:d]
			dense.Axpy(key, -1, top)
			exps(key)
			dense.Add(den, key)
			dense.AddMul(num, key, row[d:])
		}
	}
}

// step is one step of the sequences [lo, hi).
func (r *run[F]) step(k *desk[F], t, lo, hi int) {
	for s := range r.p.Slots() {
		copy(r.slot(t+1, s, lo, hi), r.slot(t, s, lo, hi)) // of ports that do not run
	}
	for i := range r.ports {
		q := &r.ports[i]
		r.scan(k, q, t, lo, hi)
		r.attend(k, q, i, t, lo, hi)
		r.compress(k, q, i, t, lo, hi)
		r.align(k, q, t, lo, hi)
	}
}

// scan finishes the softmax with the slots and writes aggr, the weights and the
// utilities.
func (r *run[F]) scan(k *desk[F], q *state[F], t, lo, hi int) {
	c := r.p.Config
	d, n, v, rows, at := c.D, c.N, len(q.Visible), hi-lo, t*r.b+lo
	for j, s := range q.Visible {
		cols := 2 * d
		if j == v-1 {
			cols = 3 * d
		}
		g := sized(&k.g, rows*3*d)[:rows*cols]
		k.work.MulT(g, r.slot(t, s, lo, hi), q.fold.s[:cols*d], rows, d, cols)
		for i := range rows {
			ws := q.ws[((at+i)*v+j)*d:][:d]
			copy(ws, g[i*cols:])
			dense.Axpy(ws, q.age[n+j], q.fold.decay)
			copy(q.vs[((at+i)*v+j)*d:][:d], g[i*cols+d:])
			if j == v-1 {
				copy(q.r[(at+i)*d:][:d], g[i*cols+2*d:])
			}
		}
	}
	if v > 0 {
		logistics(q.r[at*d : (at+rows)*d])
	}
	for tb := at; tb < at+rows; tb++ {
		scale, pooled := q.scale[tb*d:][:d], q.pooled[tb*d:][:d]
		r.rescale(k, q, tb)
		aggr := q.ay[2*tb*d:][:d]
		copy(aggr, pooled)
		if c.Aggr == "sigmoid" {
			logistics(aggr)
		}
		dense.Mul(aggr, aggr, q.r[tb*d:][:d])
		wm, u := q.wm[tb*n:][:n], q.u[tb*n:][:n]
		nt, np := r.nt[tb*n:][:n], r.np[tb*n:][:n]
		for i := range wm {
			wm[i] = dense.Dot(q.ev[(tb*n+i)*2*d:][:d], scale) / F(d)
		}
		Utilities(u, wm, nt, np, q.fold.alpha, q.fold.beta, q.fold.gamma)
	}
}

// rescale makes scale, pooled and the weights of the slots of row tb.
func (r *run[F]) rescale(k *desk[F], q *state[F], tb int) {
	d, v := r.p.Config.D, len(q.Visible)
	scale, pooled := q.scale[tb*d:][:d], q.pooled[tb*d:][:d]
	top, den, num := q.top[tb*d:][:d], q.den[tb*d:][:d], q.num[tb*d:][:d]
	if v == 0 {
		for j := range scale {
			scale[j] = 1 / den[j]
			pooled[j] = num[j] * scale[j]
		}
		return
	}
	ws, vs := q.ws[tb*v*d:][:v*d], q.vs[tb*v*d:][:v*d]
	m := sized(&k.m, d)
	copy(m, top)
	for s := range v {
		for j, x := range ws[s*d:][:d] {
			m[j] = max(m[j], x)
		}
	}
	copy(scale, top)
	dense.Axpy(scale, -1, m)
	exps(scale)
	for s := range v {
		dense.Axpy(ws[s*d:][:d], -1, m)
	}
	exps(ws)
	for j := range scale {
		sum := den[j] * scale[j]
		for s := range v {
			sum += ws[s*d+j]
		}
		scale[j] /= sum
		p := num[j] * scale[j]
		for s := range v {
			ws[s*d+j] /= sum
			p += ws[s*d+j] * vs[s*d+j]
		}
		pooled[j] = p
	}
	for s := range v {
		var sum F
		for _, x := range ws[s*d:][:d] {
			sum += x
		}
		q.wslot[tb*v+s] = sum / F(d)
	}
}

// attend is the attention of a port to neurons, and the Thinkers' confidences and
// utilities.
func (r *run[F]) attend(k *desk[F], q *state[F], port, t, lo, hi int) {
	c := r.p.Config
	d, n, rows, at := c.D, c.N, hi-lo, t*r.b+lo
	if q.Kind == Analysis && r.extra == nil {
		for tb := at; tb < at+rows; tb++ {
			clear(q.ay[(2*tb+1)*d:][:d])
			clear(q.nw[tb*n:][:n])
		}
		return
	}
	k.work.MulT(q.qp[at*d:(at+rows)*d], r.slot(t, q.Slot, lo, hi), q.fold.a, rows, d, d)
	for i := range rows {
		tb := at + i
		x := r.extraOf(port, lo+i)
		if x != nil {
			r.attendExtra(k, q, x, tb, lo+i, r.slot(t, q.Slot, lo+i, lo+i+1))
			continue
		}
		ids := r.selected(k, q, tb, nil)
		qp, u := q.qp[tb*d:][:d], q.u[tb*n:][:n]
		l, w := q.logits[tb*n:][:n], q.nw[tb*n:][:n]
		y := q.ay[(2*tb+1)*d:][:d]
		if q.Kind == Analysis {
			clear(y)
			clear(w)
			continue
		}
		Attend(l, w, y, qp, r.x[tb*n*d:][:n*d], u, nil, ids, &k.row)
		r.merits(q, tb, 1)
	}
}

// merits writes a Thinker's confidence and utility: means over its mask, weighted
// by its attention.
func (r *run[F]) merits(q *state[F], tb int, total F) {
	if q.Kind != Thinker {
		return
	}
	n, all := r.p.Config.N, r.t*r.b
	th := q.Slot - 1
	w := q.nw[tb*n:][:n]
	r.cu[th*all+tb] = dense.Dot(w, r.conf[tb*n:][:n]) / total
	var u F
	if r.util != nil {
		u = dense.Dot(w, r.util[tb*n:][:n]) / total
	}
	r.cu[(r.p.Config.Thinkers+th)*all+tb] = u
}

// selected returns the neurons that a port attends to, ascending, or nil for all
// of them; those with a stream are kept for the compression.
func (r *run[F]) selected(k *desk[F], q *state[F], tb int, allowed []bool) []int32 {
	c := r.p.Config
	n, m := c.N, portStreams(c)
	if q.Kind == Analysis {
		if m < n {
			idx := q.idx[tb*m:][:m]
			for i := range idx {
				idx[i] = -1
			}
		}
		return nil
	}
	if m == n && allowed == nil {
		return nil
	}
	k.heap = TopK(k.heap[:0], q.u[tb*n:][:n], m, allowed)
	if m < n {
		idx := q.idx[tb*m:][:m]
		copy(idx, k.heap)
		for i := len(k.heap); i < m; i++ {
			idx[i] = -1
		}
	}
	if r.phase == 2 {
		return nil
	}
	return k.heap
}

// compress writes a port's output: the fold of H and the compression, of aggr,
// the attention's mean and the streams.
func (r *run[F]) compress(k *desk[F], q *state[F], port, t, lo, hi int) {
	c := r.p.Config
	d, n, m, rows, at := c.D, c.N, portStreams(c), hi-lo, t*r.b+lo
	o := q.o[at*d : (at+rows)*d]
	k.work.MulT(o, q.ay[2*at*d:2*(at+rows)*d], q.fold.out, rows, 2*d, d)
	dense.Add(o, q.rowsx[at*d:(at+rows)*d])
	if m < n && q.Kind != Analysis {
		sel := q.sel[at*m*d : (at+rows)*m*d]
		for i := range rows {
			for a, j := range q.idx[(at+i)*m:][:m] {
				row := sel[(i*m+a)*d:][:d]
				if j < 0 {
					clear(row)
					continue
				}
				copy(row, r.x[((at+i)*n+int(j))*d:])
			}
		}
		k.work.AddMulT(o, sel, q.fold.rows, rows, m*d, d)
	}
	for i := range rows {
		if x := r.extraOf(port, lo+i); x != nil {
			r.compressExtra(q, x, at+i, lo+i)
		}
	}
	if q.Kind == Thinker {
		copy(r.o[((q.Slot-1)*r.t*r.b+at)*d:][:rows*d], o)
	}
}

// align contracts outputs towards another port's slot where they are far from it,
// and writes the slot.
func (r *run[F]) align(k *desk[F], q *state[F], t, lo, hi int) {
	d := r.p.Config.D
	for b := lo; b < hi; b++ {
		tb := t*r.b + b
		o, slot := q.o[tb*d:][:d], r.slot(t+1, q.Slot, b, b+1)
		copy(slot, o)
		q.far[tb] = false
		if len(q.Other) == 0 {
			continue
		}
		other := r.other(k, q, t, b)
		q.far[tb] = align(slot, o, other, q.fold.back, q.fold.tau)
	}
}

// other is the mean of the slots that a port is aligned to.
func (r *run[F]) other(k *desk[F], q *state[F], t, b int) []F {
	if len(q.Other) == 1 {
		return r.slot(t, q.Other[0], b, b+1)
	}
	m := sized(&k.m, r.p.Config.D)
	clear(m)
	for _, s := range q.Other {
		dense.Add(m, r.slot(t, s, b, b+1))
	}
	dense.Scale(m, 1/F(len(q.Other)))
	return m
}
