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
	norm         uint32 // of q and k, see plan.AttentionParams
	qNorm, kNorm operand[F]
	clip         F          // limit of q, k and v; 0 = none
	sinks        operand[F] // a logit of each head without a value; none if it has no leaf
	eps, offset  F
	rope         *ropes[F] // nil = no positions
	interleaved  bool
	gated        bool    // the query projection holds a gate beside each query
	reach        *reach  // nil = positions up to a row's own
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
	savedMore // with norms of q and k: raw q and k, what normalizes them, their means; then, with a limit, q, k and v before it
)

// savedGate is the place of the gates, after all others.
func (a *attention[F]) savedGate() int {
	at := savedMore
	if a.norm != plan.QKNormNone {
		at += 6
	}
	if a.clip != 0 {
		at += 3
	}
	return at
}

func bindAttention[F Float](b *Bind[F], p *plan.AttentionParams) (recorder[F], error) {
	if _, err := p.QueriesPerKey(); err != nil {
		return nil, err
	}
	switch {
	case p.QKNormKind > plan.QKNormLayer:
		return nil, b.untrained("norms of heads of kind %d", p.QKNormKind)
	case b.Has("slopes") && p.Softcap != 0:
		return nil, b.untrained("biases on distance with a cap of scores")
	case b.Has("slopes") && (p.Images != 0 || p.Causal == 0):
		return nil, b.untrained("biases on distance in both directions")
	case p.RopeStyle > plan.RopeMInterleaved:
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
		norm: p.QKNormKind, clip: exact[F](p.Clip), eps: exact[F](p.QKNormEps), offset: exact[F](p.QKNormOff),
		interleaved: p.RopeStyle == plan.RopeInterleaved,
		gated:       p.QGate != 0,
		beta:        float64(exact[F](p.TempBeta)), original: int(p.TempOrigLen),
	}
	width, qd, kd := b.cols(a.in), a.heads.Q*a.heads.Dim, a.heads.KV*a.heads.Dim
	projected := qd
	if a.gated {
		projected = 2 * qd
	}
	for _, l := range []struct {
		to         *linear[F]
		slot, bias string
		in, out    int
	}{{&a.q, "q", "q_bias", width, projected}, {&a.k, "k", "k_bias", width, kd}, {&a.v, "v", "v_bias", width, kd}, {&a.out, "o", "o_bias", qd, b.cols(a.reg)}} {
		var err error
		if *l.to, err = b.linear(l.slot, l.bias, l.in, l.out); err != nil {
			return nil, err
		}
	}
	var err error
	if a.norm != plan.QKNormNone {
		nq, nk := a.heads.Dim, a.heads.Dim
		if a.norm >= plan.QKNormWhole {
			nq, nk = qd, kd
		}
		if a.qNorm, err = b.vector("q_norm", nq); err != nil {
			return nil, err
		}
		if a.kNorm, err = b.vector("k_norm", nk); err != nil {
			return nil, err
		}
	}
	if a.sinks, err = b.vector("sinks", a.heads.Q); err != nil {
		return nil, err
	}
	if a.heads.Slopes, err = b.constant("slopes", a.heads.Q); err != nil {
		return nil, err
	}
	a.reach = b.reach(p)
	a.rope, err = b.rope(p)
	return a, err
}

// seen returns the heads with what their rows see in this step.
func (a *attention[F]) seen() dense.Heads[F] {
	h := a.heads
	if a.reach != nil {
		h.See = a.reach.rows
	}
	return h
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
	q, k, v := s.keep(rows*a.out.in), s.keep(rows*a.k.out), s.keep(rows*a.v.out)
	sums, result := s.save(rows*h.Q), s.keep(rows*a.out.in)
	if sums == nil && a.sinks.leaf != nil {
		sums = a.m.scratch.take(rows * h.Q)
	}
	y := s.output(a.reg)
	if y == nil {
		return s.t.Err()
	}
	x := s.value(a.in)
	normQ, normK := a.halves(s, rows)
	rawQ, rawK, rawV := normQ.input(q), normK.input(k), v
	if a.clip != 0 {
		rawQ, rawK, rawV = s.keep(len(q)), s.keep(len(k)), s.keep(len(v))
	}
	var gate []F
	if a.gated {
		gate = s.keep(len(q))
		both := a.m.scratch.take(rows * a.q.out)
		a.q.forward(s, both, x, rows)
		a.part(rawQ, gate, both)
	} else {
		a.q.forward(s, rawQ, x, rows)
	}
	a.k.forward(s, rawK, x, rows)
	a.v.forward(s, rawV, x, rows)
	if a.clip != 0 {
		limit(normQ.input(q), rawQ, a.clip)
		limit(normK.input(k), rawK, a.clip)
		limit(v, rawV, a.clip)
	}
	if a.norm == plan.QKNormAfter {
		a.turn(s.w, normQ.raw, normK.raw, rows, false)
	}
	normQ.forward(s.w, q)
	normK.forward(s.w, k)
	if a.norm != plan.QKNormAfter {
		a.turn(s.w, q, k, rows, false)
	}
	a.warm(q, rows)
	s.w.Attention(result, sums, q, k, v, s.batch.Lens, a.seen())
	a.sink(result, sums)
	if a.gated {
		open := a.m.scratch.take(len(result))
		a.open(open, result, gate)
		result = open
	}
	a.out.forward(s, y, result, rows)
	return s.end(keyAttention, a)
}

// part divides a projection into queries and gates, head by head, and join is its
// opposite.
func (a *attention[F]) part(q, gate, both []F) {
	for d, h := a.heads.Dim, 0; h < len(q); h += d {
		copy(q[h:h+d], both[2*h:])
		copy(gate[h:h+d], both[2*h+d:])
	}
}

func (a *attention[F]) join(both, q, gate []F) {
	for d, h := a.heads.Dim, 0; h < len(q); h += d {
		copy(both[2*h:2*h+d], q[h:])
		copy(both[2*h+d:2*h+2*d], gate[h:])
	}
}

// open writes y ⊙ σ(gate).
func (a *attention[F]) open(dst, y, gate []F) {
	dense.Activate(dense.Sigmoid, dst, gate)
	dense.Mul(dst, dst, y)
}

// A headNorm is the norm of queries or of keys in one step.
type headNorm[F Float] struct {
	kind           uint32
	weight         *operand[F]
	raw, inv, mean []F // what is normalized [rows, width], 1/σ and means
	n, width       int // vectors, and elements of each
	heads          int // of a row, with weights of their own
	eps, offset    F
}

// halves reserves what the norms of queries and keys save.
func (a *attention[F]) halves(s *step[F], rows int) (q, k headNorm[F]) {
	of := func(w *operand[F], heads int) headNorm[F] {
		n := headNorm[F]{kind: a.norm, weight: w, n: rows * heads, width: a.heads.Dim, heads: heads, eps: a.eps, offset: a.offset}
		if a.norm == plan.QKNormWhole {
			n.n, n.width = rows, heads*a.heads.Dim
		}
		if a.norm == plan.QKNormNone {
			return n
		}
		n.raw, n.inv = s.keep(rows*heads*a.heads.Dim), s.save(n.n)
		n.mean = s.save(n.n)
		return n
	}
	return of(&a.qNorm, a.heads.Q), of(&a.kNorm, a.heads.KV)
}

// restored returns the same on the way back.
func (a *attention[F]) restored(b *grad.OpaqueBack[F], rows int) (q, k headNorm[F]) {
	at := savedMore
	of := func(w *operand[F], heads int) headNorm[F] {
		n := headNorm[F]{kind: a.norm, weight: w, n: rows * heads, width: a.heads.Dim, heads: heads, eps: a.eps, offset: a.offset}
		if a.norm == plan.QKNormWhole {
			n.n, n.width = rows, heads*a.heads.Dim
		}
		if a.norm == plan.QKNormNone {
			return n
		}
		n.raw, n.inv, n.mean = b.Saved(at), b.Saved(at+1), b.Saved(at+2)
		at += 3
		return n
	}
	return of(&a.qNorm, a.heads.Q), of(&a.kNorm, a.heads.KV)
}

// input returns where the vectors to normalize belong: y itself without a norm.
func (n *headNorm[F]) input(y []F) []F {
	if n.kind == plan.QKNormNone {
		return y
	}
	return n.raw
}

func (n *headNorm[F]) forward(w *dense.Work[F], y []F) {
	switch n.kind {
	case plan.QKNormNone:
	case plan.QKNormLayer:
		w.LayerNorm(y, n.mean, n.inv, n.raw, nil, nil, n.n, n.width, n.eps)
		each(y, n.weight.value())
	default:
		w.RMSNorm(y, n.inv, n.raw, n.weight.value(), n.n, n.width, n.eps, n.offset)
	}
}

// back returns the gradient of the vectors, given that of what they became.
func (n *headNorm[F]) back(b *grad.OpaqueBack[F], w *dense.Work[F], scratch *scratch[F], dy []F) []F {
	switch n.kind {
	case plan.QKNormNone:
		return dy
	case plan.QKNormLayer:
		// Heads have weights of their own: y = w ⊙ (x−mean)·inv.
		dx, weight, g := scratch.zeros(len(dy)), n.weight.value(), n.weight.grad(b)
		for i := range n.n {
			at, h := i*n.width, i%n.heads*n.width
			for j := range n.width {
				if g != nil {
					g[h+j] += dy[at+j] * (n.raw[at+j] - n.mean[i]) * n.inv[i]
				}
				dy[at+j] *= weight[h+j]
			}
		}
		w.LayerNormBack(dx, nil, nil, n.raw, nil, n.mean, n.inv, dy, n.n, n.width)
		return dx
	}
	dx := scratch.zeros(len(dy))
	w.RMSNormBack(dx, n.weight.grad(b), n.raw, n.weight.value(), n.inv, dy, n.n, n.width, n.offset)
	return dx
}

// each multiplies rows by one vector.
func each[F Float](y, weight []F) {
	for at := 0; at < len(y); at += len(weight) {
		for j, v := range weight {
			y[at+j] *= v
		}
	}
}

// limit writes x limited to ±c.
func limit[F Float](y, x []F, c F) {
	for i, v := range x {
		y[i] = min(max(v, -c), c)
	}
}

// unlimited clears the gradients of what was limited.
func unlimited[F Float](d, x []F, c F) {
	for i, v := range x {
		if v < -c || v > c {
			d[i] = 0
		}
	}
}

// warm scales queries by position; it is its own transpose.
func (a *attention[F]) warm(q []F, rows int) {
	if a.beta == 0 {
		return
	}
	n := len(q) / rows
	for r, p := range a.m.step.pos {
		c := 1 + a.beta*math.Log1p(math.Floor(float64(p)/float64(a.original)))
		scaleBy(q[r*n:(r+1)*n], F(c))
	}
}

// turn rotates queries and keys; back it does the transpose.
func (a *attention[F]) turn(w *dense.Work[F], q, k []F, rows int, back bool) {
	if a.rope == nil {
		return
	}
	s := &a.m.step
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
	var dgate []F
	if a.gated {
		gate, opened := b.Saved(a.savedGate()), scratch.take(len(result))
		a.open(opened, result, gate)
		a.out.back(b, &dresult, b.DOut(0), opened, rows)
		dgate = scratch.take(len(gate))
		for i, x := range gate {
			g := sigmoid(x)
			dgate[i] = dresult.g[i] * result[i] * g * (1 - g)
			dresult.g[i] *= g
		}
	} else {
		a.out.back(b, &dresult, b.DOut(0), result, rows)
	}
	dq, dk, dv := scratch.zeros(len(q)), scratch.zeros(len(k)), scratch.zeros(len(v))
	a.sinkBack(b, result, sums, dresult.g)
	w.AttentionBack(dq, dk, dv, q, k, v, result, sums, dresult.g, a.m.step.batch.Lens, a.seen())
	a.warm(dq, rows)
	if a.norm != plan.QKNormAfter {
		a.turn(w, dq, dk, rows, true)
	}
	normQ, normK := a.restored(b, rows)
	dq, dk = normQ.back(b, w, scratch, dq), normK.back(b, w, scratch, dk)
	if a.norm == plan.QKNormAfter {
		a.turn(w, dq, dk, rows, true)
	}
	if a.clip != 0 {
		at := savedMore
		if a.norm != plan.QKNormNone {
			at += 6
		}
		for i, d := range [...][]F{dq, dk, dv} {
			unlimited(d, b.Saved(at+i), a.clip)
		}
	}
	if a.gated {
		both := scratch.take(rows * a.q.out)
		a.join(both, dq, dgate)
		dq = both
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
