package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

func readBack[F grad.Float](b *grad.OpaqueBack[F]) {
	list := b.Aux.(*readings[F])
	do := b.DIn(0)
	for i := range list.of {
		r := &list.of[i]
		var dw [8][]F
		for j := range dw {
			dw[j] = b.DIn(1 + i*len(dw) + j)
		}
		r.backward(b.Work(), do, b.DOut(0), &dw)
	}
	list.of[0].p.reads = append(list.of[0].p.reads, list)
}

// backward adds the gradients of the outputs before the read and of the weights.
// Carried entries are constants.
func (r *reading[F]) backward(work *grad.Work[F], do, dout []F, dw *[8][]F) {
	c := r.p.Config
	d, de, bt, tb := c.D, c.DE, r.b*r.t, r.t*r.b
	for b := range r.b {
		for t := range r.t {
			copy(r.dob[(b*r.t+t)*d:][:d], dout[(r.thinker*tb+t*r.b+b)*d:])
		}
	}
	work.Mul(r.dread, r.dob, r.om, bt, d, heads*d)
	if dw[rO] != nil {
		work.TMul(r.dom, r.dob, r.rd, d, bt, heads*d)
		for n := range heads {
			for i := range d {
				dense.Add(dw[rO][(n*d+i)*d:][:d], r.dom[(i*heads+n)*d:][:d])
			}
		}
	}
	r.back = true
	r.p.threads.Range(r.b, max(1, (r.b+r.p.threads.Count()-1)/r.p.threads.Count()), r)
	for b := range r.b {
		for n := range heads {
			p := r.part[(b*heads+n)*3:][:3]
			for j, t := range []int{rScale, rSlope, rNull} {
				if dw[t] != nil {
					dw[t][n] += p[j]
				}
			}
		}
	}
	rows := r.b * (r.t + 1)
	for j, a := range [][]F{r.da1, r.da2} {
		if dw[rR1+j] != nil {
			work.AddTMul(dw[rR1+j], a, r.e, d, rows, de)
		}
	}
	if dw[rC] != nil {
		work.AddTMul(dw[rC], r.dc, r.oh, d, bt, d)
	}
	if dw[rQ] != nil {
		work.AddTMul(dw[rQ], r.dqo, r.oh, heads*d, bt, d)
	}
	if do == nil {
		return
	}
	work.Mul(r.doh, r.dc, r.weights[rC], bt, d, d)
	work.AddMul(r.doh, r.dqo, r.weights[rQ], bt, heads*d, d)
	for b := range r.b {
		for t := range r.t {
			at := b*r.t + t
			g, oh := r.doh[at*d:][:d], r.oh[at*d:][:d]
			dst := do[(r.thinker*tb+t*r.b+b)*d:][:d]
			dense.Add(dst, r.dob[at*d:][:d])
			dense.Axpy(dst, r.inv[at], g) // ô = o·(mean o² + ε)^−½
			dense.Axpy(dst, -r.inv[at]*dense.Dot(g, oh)/F(d), oh)
		}
	}
}

// sequenceBack goes back through the reads of one sequence.
func (r *reading[F]) sequenceBack(k *desk[F], b int) {
	d, all := r.p.Config.D, r.w+r.t
	root := F(1 / math.Sqrt(float64(d)))
	entries, dall := r.all[b*all*d:][:all*d], r.dall[b*all*d:][:all*d]
	clear(dall)
	ds, read := sized(&k.reader.ds, r.t*all), sized(&k.reader.rd, r.t*d)
	da1, da2 := r.da1[b*(r.t+1)*d:][:(r.t+1)*d], r.da2[b*(r.t+1)*d:][:(r.t+1)*d]
	clear(da1)
	clear(da2)
	for n := range heads {
		part := r.part[(b*heads+n)*3:][:3]
		clear(part)
		score := r.score[(b*heads+n)*r.t*all:][:r.t*all]
		for t := range r.t {
			copy(read[t*d:][:d], r.dread[((b*r.t+t)*heads+n)*d:])
		}
		k.work.MulT(ds, read, entries, r.t, d, all)
		k.work.AddTMul(dall, score, read, all, r.t, d)
		for t := range r.t {
			lo, hi := r.span(b, t)
			row, w := ds[t*all:][:all], score[t*all:][:all]
			dot := dense.Dot(row[lo:hi], w[lo:hi])
			clear(row[:lo])
			clear(row[hi:])
			for j := lo; j < hi; j++ {
				g := w[j] * (row[j] - dot)
				part[1] -= g * F(hi-j)
				row[j] = g * root
			}
			part[2] -= r.null[(b*heads+n)*r.t+t] * dot
		}
		q, dq := r.q[(b*heads+n)*r.t*d:][:r.t*d], r.dq[(b*heads+n)*r.t*d:][:r.t*d]
		k.work.Mul(dq, ds, entries, r.t, all, d)
		k.work.AddTMul(dall, ds, q, all, r.t, d)
		a, da := r.a1, da1
		if n == 1 {
			a, da = r.a2, da2
		}
		scale := r.weights[rScale][n]
		for t := range r.t {
			g := dq[t*d:][:d]
			part[0] += dense.Dot(g, a[(b*(r.t+1)+t+1)*d:][:d])
			dense.Axpy(da[(t+1)*d:][:d], scale, g)
			copy(r.dqo[((b*r.t+t)*heads+n)*d:][:d], g)
		}
	}
	for t := range r.t {
		dc := dall[(r.w+t)*d:][:d]
		copy(r.dc[(b*r.t+t)*d:][:d], dc)
		dense.Add(da1[(t+1)*d:][:d], dc)
		dense.Add(da2[t*d:][:d], dc)
	}
}
