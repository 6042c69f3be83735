package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A latent is bound multi-head latent attention, with keys and values expanded:
// inference absorbs the expansion, which gives the same numbers but for rounding.
type latent[F Float] struct {
	m                  *Model[F]
	in, out            plan.RegisterRef
	heads              dense.Heads[F]
	nope, turned, rank int
	qa, qb, kva, o     linear[F]
	qaNorm, kvNorm     operand[F]
	keys, values       []expansion[F] // of each head
	eps                F
	rope               *ropes[F]
	interleaved        bool
}

// An expansion makes a head's keys or values of latent vectors: by rows of a
// weight, or, where a file has the axes exchanged, by its columns.
type expansion[F Float] struct {
	linear[F]
	columns bool
}

func (x *expansion[F]) forward(s *step[F], y, c []F, rows int) {
	if !x.columns {
		x.linear.forward(s, y, c, rows)
		return
	}
	s.w.Mul(y, c, x.w.value(), rows, x.in, x.out)
}

func (x *expansion[F]) back(b *grad.OpaqueBack[F], dc *sink[F], dy, c []F, rows int) {
	if !x.columns {
		x.linear.back(b, dc, dy, c, rows)
		return
	}
	w := dense.Of[F](b.Work())
	if dc.g != nil {
		w.AddMulT(dc.sum(), dy, x.w.value(), rows, x.out, x.in)
	}
	if g := x.w.grad(b); g != nil {
		w.AddTMul(g, c, dy, x.in, rows, x.out)
	}
}

// What latent attention saves, by place.
const (
	savedLatentQ = iota // rotated
	savedLatentK
	savedLatentV
	savedLatentSums
	savedLatentResult
	savedVectors // before the norm
	savedVectorsInv
	savedNormed
	savedLow // only with two projections of queries, and what follows
	savedLowInv
	savedLowNormed
)

// bindMLA binds multi-head latent attention.
func bindMLA[F Float](b *Bind[F], p *plan.MLAParams) (recorder[F], error) {
	l := &latent[F]{
		m: b.m, in: b.In[0], out: b.Out[0], nope: int(p.Nope), turned: int(p.Rope), rank: int(p.KVRank), eps: exact[F](p.NormEps),
		heads:       dense.Heads[F]{Q: int(p.Heads), KV: int(p.Heads), Dim: int(p.Nope + p.Rope), ValueDim: int(p.V), Scale: exact[F](p.Scale)},
		interleaved: p.RopeStyle == plan.RopeInterleaved,
	}
	if p.RopeStyle > plan.RopeInterleaved {
		return nil, b.untrained("rope style %d", p.RopeStyle)
	}
	width, h := b.cols(l.in), &l.heads
	inner := width
	var err error
	if p.QRank > 0 {
		inner = int(p.QRank)
		if l.qa, err = b.linear("q_a", "q_a_bias", width, inner); err != nil {
			return nil, err
		}
		if l.qaNorm, err = b.vector("q_a_norm", inner); err != nil {
			return nil, err
		}
	}
	for _, x := range []struct {
		to         *linear[F]
		slot, bias string
		in, out    int
	}{{&l.qb, "q_b", "", inner, h.Q * h.Dim}, {&l.kva, "kv_a", "kv_a_bias", width, l.rank + l.turned}, {&l.o, "o", "o_bias", h.Q * h.ValueDim, b.cols(l.out)}} {
		if *x.to, err = b.linear(x.slot, x.bias, x.in, x.out); err != nil {
			return nil, err
		}
	}
	if l.kvNorm, err = b.vector("kv_a_norm", l.rank); err != nil {
		return nil, err
	}
	if l.keys, err = b.expansions("k_b", h.Q, l.rank, l.nope, true); err != nil {
		return nil, err
	}
	if l.values, err = b.expansions("v_b", h.Q, l.rank, h.ValueDim, false); err != nil {
		return nil, err
	}
	l.rope, err = b.rope(&plan.AttentionParams{
		RopeStyle: p.RopeStyle, RopeDim: p.Rope, RopeKind: p.RopeKind, RopeLimit: p.RopeLimit,
		RopeBase: p.RopeBase, RopeFactor: p.RopeFactor, RopeScale: p.RopeScale,
	})
	return l, err
}

// expansions cuts a weight by heads. turned says that plans have its axes exchanged;
// if a recipe did that, the weight is used as it was before.
func (b *Bind[F]) expansions(slot string, heads, in, out int, turned bool) ([]expansion[F], error) {
	w, err := b.weight(slot, heads*in*out)
	if err != nil {
		return nil, err
	}
	if turned && w.plain != nil {
		w, turned = w.plain, false
	}
	xs := make([]expansion[F], heads)
	for i := range xs {
		x, lo := &xs[i], i*in*out
		x.in, x.out, x.columns = in, out, turned
		x.w = b.m.operand(w, lo, lo+in*out)
		if !turned {
			b.m.attach(&x.linear, w, lo)
		}
	}
	return xs, nil
}

func (l *latent[F]) record(s *step[F]) error {
	s.begin(l.in)
	for _, x := range []*linear[F]{&l.qa, &l.qb, &l.kva, &l.o} {
		x.use(s)
	}
	s.use(&l.qaNorm)
	s.use(&l.kvNorm)
	for i := range l.keys {
		l.keys[i].use(s)
		l.values[i].use(s)
	}
	h, rows, scratch := &l.heads, s.count(l.in), &l.m.scratch
	x := s.value(l.in)
	q, k, v := s.keep(rows*h.Q*h.Dim), s.keep(rows*h.Q*h.Dim), s.keep(rows*h.Q*h.ValueDim)
	sums, result := s.save(rows*h.Q), s.keep(rows*h.Q*h.ValueDim)
	c, inv, normed := s.keep(rows*l.rank), s.save(rows), s.keep(rows*l.rank)
	y := s.output(l.out)
	if y == nil {
		return s.t.Err()
	}
	low := x
	if l.qa.out > 0 {
		raw, lowInv := s.keep(rows*l.qa.out), s.save(rows)
		low = s.keep(rows * l.qa.out)
		l.qa.forward(s, raw, x, rows)
		s.w.RMSNorm(low, lowInv, raw, l.qaNorm.value(), rows, l.qa.out, l.eps, 0)
	}
	l.qb.forward(s, q, low, rows)
	both := scratch.take(rows * l.kva.out)
	l.kva.forward(s, both, x, rows)
	key := scratch.take(rows * l.turned)
	for r := range rows {
		copy(c[r*l.rank:(r+1)*l.rank], both[r*l.kva.out:])
		copy(key[r*l.turned:(r+1)*l.turned], both[r*l.kva.out+l.rank:])
	}
	s.w.RMSNorm(normed, inv, c, l.kvNorm.value(), rows, l.rank, l.eps, 0)
	l.turn(s.w, q, key, rows, false)
	part := scratch.take(rows * max(l.nope, h.ValueDim))
	for i := range h.Q {
		l.keys[i].forward(s, part[:rows*l.nope], normed, rows)
		for r := range rows {
			to := k[(r*h.Q+i)*h.Dim : (r*h.Q+i+1)*h.Dim]
			copy(to, part[r*l.nope:(r+1)*l.nope])
			copy(to[l.nope:], key[r*l.turned:(r+1)*l.turned])
		}
		l.values[i].forward(s, part[:rows*h.ValueDim], normed, rows)
		for r := range rows {
			copy(v[(r*h.Q+i)*h.ValueDim:], part[r*h.ValueDim:(r+1)*h.ValueDim])
		}
	}
	s.w.Attention(result, sums, q, k, v, s.batch.Lens, *h)
	l.o.forward(s, y, result, rows)
	return s.end(keyMLA, l)
}

// turn rotates the last elements of queries, and the shared key; back it does the
// transpose.
func (l *latent[F]) turn(w *dense.Work[F], q, key []F, rows int, back bool) {
	if l.rope == nil {
		return
	}
	h, s := &l.heads, &l.m.step
	t := l.rope.rotation(&dense.Heads[F]{Dim: l.turned}, l.interleaved, back)
	w.Rope(key, key, rows, 1, &t, l.rope.index(s))
	part := l.m.scratch.take(rows * h.Q * l.turned)
	for i := range rows * h.Q {
		copy(part[i*l.turned:(i+1)*l.turned], q[i*h.Dim+l.nope:])
	}
	w.Rope(part, part, rows, h.Q, &t, l.rope.index(s))
	for i := range rows * h.Q {
		copy(q[i*h.Dim+l.nope:(i+1)*h.Dim], part[i*l.turned:])
	}
}

func mlaBack[F Float](b *grad.OpaqueBack[F]) {
	l := b.Aux.(*latent[F])
	h, w, scratch := &l.heads, dense.Of[F](b.Work()), &l.m.scratch
	scratch.reset()
	q, k, v := b.Saved(savedLatentQ), b.Saved(savedLatentK), b.Saved(savedLatentV)
	sums, result, normed := b.Saved(savedLatentSums), b.Saved(savedLatentResult), b.Saved(savedNormed)
	rows := len(sums) / h.Q
	dresult := sink[F]{g: scratch.take(len(result))}
	l.o.back(b, &dresult, b.DOut(0), result, rows)
	dq, dk, dv := scratch.zeros(len(q)), scratch.zeros(len(k)), scratch.zeros(len(v))
	w.AttentionBack(dq, dk, dv, q, k, v, result, sums, dresult.g, l.m.step.batch.Lens, *h)

	dkey, dnormed := scratch.zeros(rows*l.turned), sink[F]{g: scratch.zeros(len(normed)), add: true}
	part := scratch.take(rows * max(l.nope, h.ValueDim))
	for i := range h.Q {
		for r := range rows {
			from := dk[(r*h.Q+i)*h.Dim : (r*h.Q+i+1)*h.Dim]
			copy(part[r*l.nope:(r+1)*l.nope], from)
			add(dkey[r*l.turned:(r+1)*l.turned], from[l.nope:])
		}
		l.keys[i].back(b, &dnormed, part[:rows*l.nope], normed, rows)
		for r := range rows {
			copy(part[r*h.ValueDim:(r+1)*h.ValueDim], dv[(r*h.Q+i)*h.ValueDim:])
		}
		l.values[i].back(b, &dnormed, part[:rows*h.ValueDim], normed, rows)
	}
	l.turn(w, dq, dkey, rows, true)
	dc := scratch.zeros(len(normed))
	w.RMSNormBack(dc, l.kvNorm.grad(b), b.Saved(savedVectors), l.kvNorm.value(), b.Saved(savedVectorsInv), dnormed.g, rows, l.rank, 0)
	dboth := scratch.take(rows * l.kva.out)
	for r := range rows {
		copy(dboth[r*l.kva.out:], dc[r*l.rank:(r+1)*l.rank])
		copy(dboth[r*l.kva.out+l.rank:(r+1)*l.kva.out], dkey[r*l.turned:])
	}
	x, dx := b.In(0), sinkOf(b, 0)
	l.kva.back(b, &dx, dboth, x, rows)
	if l.qa.out == 0 {
		l.qb.back(b, &dx, dq, x, rows)
		return
	}
	low := b.Saved(savedLow)
	dlow, draw := sink[F]{g: scratch.take(len(low))}, scratch.zeros(len(low))
	l.qb.back(b, &dlow, dq, b.Saved(savedLowNormed), rows)
	w.RMSNormBack(draw, l.qaNorm.grad(b), low, l.qaNorm.value(), b.Saved(savedLowInv), dlow.g, rows, l.qa.out, 0)
	l.qa.back(b, &dx, draw, x, rows)
}

func (l *latent[F]) need(rows int) need {
	h := &l.heads
	wide, values := rows*h.Q*h.Dim, rows*h.Q*h.ValueDim
	n := need{out: rows * l.o.out, saved: 2*wide + 2*values + rows*(h.Q+2*l.rank+2+2*l.qa.out)}
	n.scratch = 2*wide + 2*values + rows*(h.Q*l.turned+2*l.kva.out+3*l.rank+2*l.turned+3*l.qa.out+l.nope+h.ValueDim)
	n.scratch += lows(rows, &l.qa, &l.qb, &l.kva, &l.o)
	for i := range l.keys {
		n.scratch += lows(rows, &l.keys[i].linear, &l.values[i].linear)
	}
	return n
}
