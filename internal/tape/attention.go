package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// An attention is bound grouped-query attention: projections, norms of heads,
// rotation, attention inside each document, output projection.
type attention[F Float] struct {
	m            *Model[F]
	in, reg      plan.RegisterRef
	heads        dense.Heads[F]
	q, k, v, out linear[F]
	normed       bool // heads of q and k
	qNorm, kNorm operand[F]
	sinks        operand[F] // a logit of each head without a value; none if it has no leaf
	eps, offset  F
	rope         *ropes[F] // nil = no positions
	interleaved  bool
	beta         float64 // q ×= 1 + beta·ln(1 + ⌊pos/original⌋)
	original     int
}

// What an attention saves, by place.
const (
	savedQ = iota
	savedK
	savedV
	savedSums
	savedResult
	savedRawQ // only with norms of heads, and what follows
	savedRawK
	savedInvQ
	savedInvK
)

func bindAttention[F Float](b *Bind[F], p *plan.AttentionParams) (recorder[F], error) {
	if _, err := p.QueriesPerKey(); err != nil {
		return nil, err
	}
	switch {
	case p.QGate != 0:
		return nil, b.untrained("gated attention")
	case p.Causal == 0:
		return nil, b.untrained("bidirectional attention")
	case p.QKNormKind > 1:
		return nil, b.untrained("norms of heads of kind %d", p.QKNormKind)
	case p.RopeStyle > plan.RopeInterleaved:
		return nil, b.untrained("rope style %d", p.RopeStyle)
	case len(b.In) != 1:
		return nil, b.untrained("attention with a second input")
	}
	a := &attention[F]{
		m: b.m, in: b.In[0], reg: b.Out[0],
		heads: dense.Heads[F]{
			Q: int(p.Heads), KV: int(p.KVHeads), Dim: int(p.HeadDim), Window: int(p.Window),
			Scale: exact[F](p.Scale), Softcap: exact[F](p.Softcap),
		},
		normed: p.QKNormKind != 0, eps: exact[F](p.QKNormEps), offset: exact[F](p.QKNormOff),
		interleaved: p.RopeStyle == plan.RopeInterleaved,
		beta:        float64(exact[F](p.TempBeta)), original: int(p.TempOrigLen),
	}
	width, qd, kd := b.cols(a.in), a.heads.Q*a.heads.Dim, a.heads.KV*a.heads.Dim
	for _, l := range []struct {
		to         *linear[F]
		slot, bias string
		in, out    int
	}{{&a.q, "q", "q_bias", width, qd}, {&a.k, "k", "k_bias", width, kd}, {&a.v, "v", "v_bias", width, kd}, {&a.out, "o", "o_bias", qd, b.cols(a.reg)}} {
		var err error
		if *l.to, err = b.linear(l.slot, l.bias, l.in, l.out); err != nil {
			return nil, err
		}
	}
	var err error
	if a.normed {
		if a.qNorm, err = b.vector("q_norm", a.heads.Dim); err != nil {
			return nil, err
		}
		if a.kNorm, err = b.vector("k_norm", a.heads.Dim); err != nil {
			return nil, err
		}
	}
	if a.sinks, err = b.vector("sinks", a.heads.Q); err != nil {
		return nil, err
	}
	a.rope, err = b.rope(p)
	return a, err
}

func (a *attention[F]) record(s *step[F]) error {
	s.begin(a.in)
	for _, l := range []*linear[F]{&a.q, &a.k, &a.v, &a.out} {
		l.use(s)
	}
	s.use(&a.qNorm)
	s.use(&a.kNorm)
	s.use(&a.sinks)
	h, rows := &a.heads, s.count(a.in)
	q, k, v := s.keep(rows*a.q.out), s.keep(rows*a.k.out), s.keep(rows*a.v.out)
	sums, result := s.save(rows*h.Q), s.keep(rows*a.q.out)
	if sums == nil && a.sinks.leaf != nil {
		sums = a.m.scratch.take(rows * h.Q)
	}
	y := s.output(a.reg)
	if y == nil {
		return s.t.Err()
	}
	x := s.value(a.in)
	rawQ, rawK := q, k
	if a.normed {
		rawQ, rawK = s.keep(len(q)), s.keep(len(k))
	}
	a.q.forward(s, rawQ, x, rows)
	a.k.forward(s, rawK, x, rows)
	a.v.forward(s, v, x, rows)
	if a.normed {
		invQ, invK := s.save(rows*h.Q), s.save(rows*h.KV)
		s.w.RMSNorm(q, invQ, rawQ, a.qNorm.value(), rows*h.Q, h.Dim, a.eps, a.offset)
		s.w.RMSNorm(k, invK, rawK, a.kNorm.value(), rows*h.KV, h.Dim, a.eps, a.offset)
	}
	a.turn(s.w, q, k, rows, false)
	s.w.Attention(result, sums, q, k, v, s.batch.Lens, *h)
	a.sink(result, sums)
	a.out.forward(s, y, result, rows)
	return s.end(keyAttention, a)
}

// turn rotates queries and keys, and scales queries by position; back it does
// the transpose.
func (a *attention[F]) turn(w *dense.Work[F], q, k []F, rows int, back bool) {
	s := &a.m.step
	if a.beta != 0 {
		n := len(q) / rows
		for r, p := range s.pos {
			c := 1 + a.beta*math.Log1p(math.Floor(float64(p)/float64(a.original)))
			scaleBy(q[r*n:(r+1)*n], F(c))
		}
	}
	if a.rope == nil {
		return
	}
	t := a.rope.rotation(&a.heads, a.interleaved, back)
	w.Rope(q, q, rows, a.heads.Q, &t, a.rope.index(s))
	w.Rope(k, k, rows, a.heads.KV, &t, a.rope.index(s))
}

func attentionBack[F Float](b *grad.OpaqueBack[F]) {
	a := b.Aux.(*attention[F])
	h, w, scratch := &a.heads, dense.Of[F](b.Work()), &a.m.scratch
	scratch.reset()
	q, k, v := b.Saved(savedQ), b.Saved(savedK), b.Saved(savedV)
	sums, result := b.Saved(savedSums), b.Saved(savedResult)
	rows := len(sums) / h.Q
	dresult := sink[F]{g: scratch.take(len(result))}
	a.out.back(b, &dresult, b.DOut(0), result, rows)
	dq, dk, dv := scratch.zeros(len(q)), scratch.zeros(len(k)), scratch.zeros(len(v))
	a.sinkBack(b, result, sums, dresult.g)
	w.AttentionBack(dq, dk, dv, q, k, v, result, sums, dresult.g, a.m.step.batch.Lens, *h)
	a.turn(w, dq, dk, rows, true)
	if a.normed {
		rawQ, rawK := scratch.zeros(len(q)), scratch.zeros(len(k))
		w.RMSNormBack(rawQ, a.qNorm.grad(b), b.Saved(savedRawQ), a.qNorm.value(), b.Saved(savedInvQ), dq, rows*h.Q, h.Dim, a.offset)
		w.RMSNormBack(rawK, a.kNorm.grad(b), b.Saved(savedRawK), a.kNorm.value(), b.Saved(savedInvK), dk, rows*h.KV, h.Dim, a.offset)
		dq, dk = rawQ, rawK
	}
	x, dx := b.In(0), sinkOf(b, 0)
	a.q.back(b, &dx, dq, x, rows)
	a.k.back(b, &dx, dk, x, rows)
	a.v.back(b, &dx, dv, x, rows)
}

// sink adds the sinks to the sums of e^score, whose logarithms sums has, and
// divides results accordingly. With these, the gradients of scores are those
// without sinks.
func (a *attention[F]) sink(result, sums []F) {
	sinks, h := a.sinks.value(), &a.heads
	for i := range sums {
		if sinks == nil {
			return
		}
		with := float64(sinks[i%h.Q])
		top := max(float64(sums[i]), with)
		all := top + math.Log(math.Exp(float64(sums[i])-top)+math.Exp(with-top))
		dense.Scale(result[i*h.Dim:(i+1)*h.Dim], F(math.Exp(float64(sums[i])-all)))
		sums[i] = F(all)
	}
}

// sinkBack adds the gradients of the sinks, whose values are zero.
func (a *attention[F]) sinkBack(b *grad.OpaqueBack[F], result, sums, dresult []F) {
	d, sinks, h := a.sinks.grad(b), a.sinks.value(), &a.heads
	for i := range sums {
		if d == nil {
			return
		}
		share := F(math.Exp(float64(sinks[i%h.Q] - sums[i])))
		d[i%h.Q] -= share * dense.Dot(dresult[i*h.Dim:(i+1)*h.Dim], result[i*h.Dim:(i+1)*h.Dim])
	}
}
