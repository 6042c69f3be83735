package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A gatedDelta is a bound gated delta rule mixer.
type gatedDelta[F Float] struct {
	m                     *Model[F]
	in, reg               plan.RegisterRef
	qkv, z, b, a, out     linear[F]
	conv                  conv[F]
	decay, dt, norm       operand[F]
	kHeads, group, kd, vd int
	tiled                 bool
	eps, unitEps          F
	work                  *chunk.Delta[F]
}

// What a gated delta rule saves, by place.
const (
	savedQKV = iota
	savedZ
	savedB
	savedA
	savedRaw      // what heads answer, before the norm
	savedMemories // memories at the beginnings of spans
)

// bindGatedDelta binds a gated delta rule mixer.
func bindGatedDelta[F Float](b *Bind[F], p *plan.GatedDeltaParams) (recorder[F], error) {
	if p.KHeads == 0 || p.VHeads%p.KHeads != 0 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d heads of values do not divide into %d key heads", p.VHeads, p.KHeads)
	}
	d := &gatedDelta[F]{
		m: b.m, in: b.In[0], reg: b.Out[0], kHeads: int(p.KHeads), group: int(p.VHeads / p.KHeads), kd: int(p.KDim), vd: int(p.VDim),
		tiled: p.VLayout != 0, eps: exact[F](p.NormEps), unitEps: exact[F](p.L2Eps),
	}
	d.work = chunk.NewDelta[F](d.kd, d.vd)
	width, values := b.cols(d.in), d.values()
	for _, l := range []struct {
		to      *linear[F]
		slot    string
		in, out int
	}{{&d.qkv, "qkv", width, d.channels()}, {&d.z, "z", width, values}, {&d.b, "b", width, int(p.VHeads)}, {&d.a, "a", width, int(p.VHeads)}, {&d.out, "out", values, b.cols(d.reg)}} {
		var err error
		if *l.to, err = b.linear(l.slot, "", l.in, l.out); err != nil {
			return nil, err
		}
	}
	for _, v := range []struct {
		to   *operand[F]
		slot string
		n    int
	}{{&d.decay, "decay", int(p.VHeads)}, {&d.dt, "dt_bias", int(p.VHeads)}, {&d.norm, "norm", d.vd}} {
		var err error
		if *v.to, err = b.vector(v.slot, v.n); err != nil {
			return nil, err
		}
	}
	var err error
	d.conv, err = b.conv("conv", "", d.channels(), int(p.Conv))
	return d, err
}

func (d *gatedDelta[F]) heads() int    { return d.kHeads * d.group }
func (d *gatedDelta[F]) values() int   { return d.heads() * d.vd }
func (d *gatedDelta[F]) channels() int { return 2*d.kHeads*d.kd + d.values() }

func (d *gatedDelta[F]) record(s *step[F]) error {
	s.begin(d.in)
	for _, l := range []*linear[F]{&d.qkv, &d.z, &d.b, &d.a, &d.out} {
		l.use(s)
	}
	d.conv.use(s)
	for _, o := range []*operand[F]{&d.decay, &d.dt, &d.norm} {
		s.use(o)
	}
	rows, x := s.count(d.in), s.value(d.in)
	qkv, z := s.keep(rows*d.channels()), s.keep(rows*d.values())
	b, a := s.keep(rows*d.heads()), s.keep(rows*d.heads())
	raw, states := s.keep(rows*d.values()), s.save(d.statesLen(s.batch.Lens))
	y := s.output(d.reg)
	if y == nil {
		return s.t.Err()
	}
	d.qkv.forward(s, qkv, x, rows)
	d.z.forward(s, z, x, rows)
	d.b.forward(s, b, x, rows)
	d.a.forward(s, a, x, rows)
	sc := &d.m.scratch
	_, _, mixed := d.mix(qkv, s.batch.Lens)
	h := d.first(s.batch.Lens)
	answer := sc.take(h.longest * d.vd)
	for _, n := range s.batch.Lens {
		for i := range d.heads() {
			d.turn(&h, n, i)
			d.gather(&h, mixed, b, a)
			var keep []F
			if states != nil {
				keep = states[h.state:]
			}
			d.work.Forward(answer, keep, &h.x)
			d.spread(raw, answer, &h)
			h.state += d.work.StatesLen(n)
		}
		h.row += n
	}
	normed, opened := sc.take(len(raw)), sc.take(len(raw))
	s.w.RMSNorm(normed, sc.take(rows*d.heads()), raw, d.norm.value(), rows*d.heads(), d.vd, d.eps, 0)
	s.w.ActivateMul(dense.SiLU, opened, z, normed)
	d.out.forward(s, y, opened, rows)
	return s.end(keyGatedDelta, d)
}

// mix returns the convolution of the rows, before and after its activation.
func (d *gatedDelta[F]) mix(qkv []F, lens []int) (w dense.Conv[F], pre, mixed []F) {
	s := &d.m.scratch
	w = d.conv.open(s)
	pre, mixed = s.take(len(qkv)), s.take(len(qkv))
	d.conv.forward(&w, s, pre, qkv, lens)
	dense.Activate(dense.SiLU, mixed, pre)
	return w, pre, mixed
}

// A deltaHead is one head of values of one document.
type deltaHead[F Float] struct {
	row       int // first of the document
	key, head int
	state     int // of its memories among all
	longest   int // document
	all, x    chunk.Sequence[F]
}

// first returns a head with room for every document.
func (d *gatedDelta[F]) first(lens []int) (h deltaHead[F]) {
	for _, n := range lens {
		h.longest = max(h.longest, n)
	}
	h.all = d.sequence(&d.m.scratch, h.longest)
	return h
}

// turn makes h the i-th head of a document of n rows.
func (d *gatedDelta[F]) turn(h *deltaHead[F], n, i int) {
	h.key, h.head = i/d.group, i
	if d.tiled {
		h.key = i % d.kHeads
	}
	x := &h.all
	h.x = chunk.Sequence[F]{Tokens: n, K: x.K[:n*d.kd], Q: x.Q[:n*d.kd], V: x.V[:n*d.vd], G: x.G[:n], Beta: x.Beta[:n]}
}

func (d *gatedDelta[F]) statesLen(lens []int) (n int) {
	for _, rows := range lens {
		n += d.heads() * d.work.StatesLen(rows)
	}
	return n
}

func (d *gatedDelta[F]) sequence(s *scratch[F], n int) chunk.Sequence[F] {
	return chunk.Sequence[F]{Tokens: n, K: s.zeros(n * d.kd), Q: s.zeros(n * d.kd), V: s.zeros(n * d.vd), G: s.zeros(n), Beta: s.zeros(n)}
}

// gather copies what a head reads.
func (d *gatedDelta[F]) gather(h *deltaHead[F], mixed, b, a []F) {
	width, heads := d.channels(), d.heads()
	decay, dt := d.decay.value()[h.head], d.dt.value()[h.head]
	for i := range h.x.Tokens {
		row := mixed[(h.row+i)*width:]
		q, k := h.x.Q[i*d.kd:][:d.kd], h.x.K[i*d.kd:][:d.kd]
		copy(q, row[h.key*d.kd:])
		copy(k, row[(d.kHeads+h.key)*d.kd:])
		dense.Scale(q, d.length(q)/F(math.Sqrt(float64(d.kd))))
		dense.Scale(k, d.length(k))
		copy(h.x.V[i*d.vd:][:d.vd], row[2*d.kHeads*d.kd+h.head*d.vd:])
		at := (h.row+i)*heads + h.head
		h.x.G[i] = decay * softplus(a[at]+dt)
		h.x.Beta[i] = sigmoid(b[at])
	}
}

// length returns what makes x of length one.
func (d *gatedDelta[F]) length(x []F) F {
	return F(1 / math.Sqrt(dense.SumSquares(x)+float64(d.unitEps)))
}

// spread copies the answers of a head to its columns of all rows.
func (d *gatedDelta[F]) spread(dst, src []F, h *deltaHead[F]) {
	for i := range h.x.Tokens {
		copy(dst[(h.row+i)*d.values()+h.head*d.vd:][:d.vd], src[i*d.vd:])
	}
}

func softplus[F Float](x F) F {
	if x > 20 {
		return x
	}
	return F(math.Log1p(math.Exp(float64(x))))
}

func gatedDeltaBack[F Float](b *grad.OpaqueBack[F]) {
	d := b.Aux.(*gatedDelta[F])
	w, s, lens := dense.Of[F](b.Work()), &d.m.scratch, d.m.step.batch.Lens
	s.reset()
	qkv, z, raw := b.Saved(savedQKV), b.Saved(savedZ), b.Saved(savedRaw)
	rows := len(z) / d.values()

	normed, inv, h := s.take(len(raw)), s.take(rows*d.heads()), s.take(len(raw))
	w.RMSNorm(normed, inv, raw, d.norm.value(), rows*d.heads(), d.vd, d.eps, 0)
	w.ActivateMul(dense.SiLU, h, z, normed)
	dh := sink[F]{g: s.take(len(h))}
	d.out.back(b, &dh, b.DOut(0), h, rows)
	dz, dnormed, draw := s.zeros(len(z)), s.zeros(len(raw)), s.zeros(len(raw))
	w.ActivateMulBack(dense.SiLU, dz, dnormed, z, normed, dh.g)
	w.RMSNormBack(draw, d.norm.grad(b), raw, d.norm.value(), inv, dnormed, rows*d.heads(), d.vd, 0)

	conv, pre, mixed := d.mix(qkv, lens)
	dmixed, db, da := s.zeros(len(mixed)), s.zeros(rows*d.heads()), s.zeros(rows*d.heads())
	at, dy, g := d.first(lens), s.take(rows*d.vd), d.sequence(s, rows)
	for _, n := range lens {
		for i := range d.heads() {
			d.turn(&at, n, i)
			d.headBack(b, &at, &g, dy[:n*d.vd], draw, mixed, dmixed, db, da)
			at.state += d.work.StatesLen(n)
		}
		at.row += n
	}
	dpre, dqkv := s.zeros(len(pre)), s.zeros(len(qkv))
	dense.ActivateBack(dense.SiLU, dpre, pre, dmixed)
	d.conv.back(b, &conv, s, dqkv, qkv, dpre, lens)

	x, dx := b.In(0), sinkOf(b, 0)
	d.qkv.back(b, &dx, dqkv, x, rows)
	d.z.back(b, &dx, dz, x, rows)
	d.b.back(b, &dx, db, x, rows)
	d.a.back(b, &dx, da, x, rows)
}

// headBack adds the gradients of one head to those of all rows, through g.
func (d *gatedDelta[F]) headBack(b *grad.OpaqueBack[F], h *deltaHead[F], g *chunk.Sequence[F], dy, draw, mixed, dmixed, db, da []F) {
	width, heads, n := d.channels(), d.heads(), h.x.Tokens
	bs, as := b.Saved(savedB), b.Saved(savedA)
	d.gather(h, mixed, bs, as)
	for _, x := range [...][]F{g.K, g.Q, g.V, g.G, g.Beta} {
		clear(x)
	}
	for i := range n {
		copy(dy[i*d.vd:][:d.vd], draw[(h.row+i)*d.values()+h.head*d.vd:])
	}
	d.work.Back(g, &h.x, dy, b.Saved(savedMemories)[h.state:])
	decay, dt := d.decay.value()[h.head], d.dt.value()[h.head]
	ddecay, ddt := d.decay.grad(b), d.dt.grad(b)
	root := F(1 / math.Sqrt(float64(d.kd)))
	for i := range n {
		row, drow := mixed[(h.row+i)*width:], dmixed[(h.row+i)*width:]
		q, k := h.key*d.kd, (d.kHeads+h.key)*d.kd
		d.unitBack(drow[q:q+d.kd], row[q:q+d.kd], g.Q[i*d.kd:][:d.kd], root)
		d.unitBack(drow[k:k+d.kd], row[k:k+d.kd], g.K[i*d.kd:][:d.kd], 1)
		v := 2*d.kHeads*d.kd + h.head*d.vd
		dense.Add(drow[v:v+d.vd], g.V[i*d.vd:][:d.vd])
		at := (h.row+i)*heads + h.head
		step := as[at] + dt
		db[at] += g.Beta[i] * h.x.Beta[i] * (1 - h.x.Beta[i])
		slope := g.G[i] * decay * sigmoid(step)
		da[at] += slope
		if ddt != nil {
			ddt[h.head] += slope
		}
		if ddecay != nil {
			ddecay[h.head] += g.G[i] * softplus(step)
		}
	}
}

// unitBack adds the gradient of scale·x/√(|x|²+ε).
func (d *gatedDelta[F]) unitBack(dx, x, dy []F, scale F) {
	l := d.length(x)
	dense.Axpy(dx, scale*l, dy)
	dense.Axpy(dx, -scale*l*l*l*dense.Dot(x, dy), x)
}
