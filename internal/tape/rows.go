package tape

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// add adds x to dst.
func add[F Float](dst, x []F) { dense.Add(dst, x) }

// scaleBy multiplies x by c; by 1 it does nothing.
func scaleBy[F Float](x []F, c F) {
	if c != 1 {
		dense.Scale(x, c)
	}
}

// An embedding is a bound table lookup.
type embedding[F Float] struct {
	m          *Model[F]
	table      operand[F]
	pos, kind  operand[F] // rows from position 0 on; rows of token types; none if empty
	out        plan.RegisterRef
	vocab, dim int
	scale      F
}

func bindEmbedding[F Float](b *Bind[F], p *plan.EmbedParams) (recorder[F], error) {
	e := &embedding[F]{m: b.m, out: b.Out[0], vocab: int(p.Vocab), dim: int(p.Dim), scale: exact[F](p.Scale)}
	b.m.vocab = e.vocab
	var err error
	if e.table, err = b.vector("table", e.vocab*e.dim); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		slot  string
		to    *operand[F]
		first int // row
	}{{"pos", &e.pos, int(p.PosOffset)}, {"type", &e.kind, 0}} {
		w, ok, err := b.Weight(x.slot)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		n, _ := w.shape.Size()
		if len(w.shape) != 2 || w.shape[1] != e.dim || w.shape[0] <= x.first {
			return nil, b.WeightErrorf(x.slot, "shape %v, want more than %d rows of %d", w.shape, x.first, e.dim)
		}
		*x.to = b.m.operand(w, x.first*e.dim, n)
	}
	return e, nil
}

func (e *embedding[F]) record(s *step[F]) error {
	s.begin()
	s.use(&e.table)
	s.use(&e.pos)
	s.use(&e.kind)
	y := s.output(e.out)
	if y == nil {
		return s.t.Err()
	}
	s.w.Gather(y, e.table.value(), s.batch.Tokens, e.dim)
	scaleBy(y, e.scale)
	if pos := e.pos.value(); pos != nil {
		if s.longest*e.dim > len(pos) {
			return fmt.Errorf("%w: a document of %d tokens, the model has %d positions", errBatch, s.longest, len(pos)/e.dim)
		}
		at := s.m.scratch.take(len(y))
		s.w.Gather(at, pos, s.pos, e.dim)
		add(y, at)
	}
	if kind := e.kind.value(); kind != nil {
		for r := 0; r < len(y); r += e.dim {
			t := e.typeOf(s.batch, r/e.dim)
			if (t+1)*e.dim > len(kind) {
				return &batchError{r / e.dim, fmt.Sprintf("token type %d, the model has %d", t, len(kind)/e.dim)}
			}
			add(y[r:r+e.dim], kind[t*e.dim:(t+1)*e.dim])
		}
	}
	return s.end(keyEmbedding, e)
}

// typeOf returns the type of a row's token.
func (e *embedding[F]) typeOf(b *Batch, row int) int {
	if b.Types == nil {
		return 0
	}
	return int(b.Types[row])
}

func embeddingBack[F Float](b *grad.OpaqueBack[F]) {
	e := b.Aux.(*embedding[F])
	d := b.DOut(0)
	if g := e.pos.grad(b); g != nil {
		dense.Of[F](b.Work()).ScatterAdd(g, d, e.m.step.pos, e.dim)
	}
	if g := e.kind.grad(b); g != nil {
		for r := 0; r < len(d); r += e.dim {
			t := e.typeOf(e.m.step.batch, r/e.dim)
			add(g[t*e.dim:(t+1)*e.dim], d[r:r+e.dim])
		}
	}
	g := e.table.grad(b)
	if g == nil {
		return
	}
	if e.scale != 1 {
		e.m.scratch.reset()
		d = append(e.m.scratch.take(len(d))[:0], d...)
		scaleBy(d, e.scale)
	}
	dense.Of[F](b.Work()).ScatterAdd(g, d, e.m.step.batch.Tokens, e.dim)
}

// A norm is a bound norm of whole rows.
type norm[F Float] struct {
	in, out      plan.RegisterRef
	weight, bias operand[F]
	dim          int
	eps, offset  F
	layer        bool // mean removed
}

func bindNorm[F Float](b *Bind[F], p *plan.NormParams) (recorder[F], error) {
	if p.Groups > 1 {
		return nil, b.untrained("a norm over %d groups", p.Groups)
	}
	if p.Kind > plan.NormLayer {
		return nil, b.untrained("a norm of kind %d", p.Kind)
	}
	n := &norm[F]{in: b.In[0], out: b.Out[0], dim: int(p.Dim), eps: exact[F](p.Eps), offset: exact[F](p.Offset), layer: p.Kind == plan.NormLayer}
	var err error
	if n.weight, err = b.vector("weight", n.dim); err != nil {
		return nil, err
	}
	n.bias, err = b.vector("bias", n.dim)
	if err == nil && n.bias.leaf != nil && !n.layer {
		return nil, b.untrained("a root-mean-square norm with a bias")
	}
	return n, err
}

func (n *norm[F]) record(s *step[F]) error {
	s.begin(n.in)
	s.use(&n.weight)
	s.use(&n.bias)
	rows := s.count(n.in)
	inv := s.save(rows)
	var mean []F
	if n.layer {
		mean = s.save(rows)
	}
	y := s.output(n.out)
	if y == nil {
		return s.t.Err()
	}
	if n.layer {
		s.w.LayerNorm(y, mean, inv, s.value(n.in), n.weight.value(), n.bias.value(), rows, n.dim, n.eps)
	} else {
		s.w.RMSNorm(y, inv, s.value(n.in), n.weight.value(), rows, n.dim, n.eps, n.offset)
	}
	return s.end(keyNorm, n)
}

func normBack[F Float](b *grad.OpaqueBack[F]) {
	n := b.Aux.(*norm[F])
	rows, w := len(b.Saved(0)), dense.Of[F](b.Work())
	if n.layer {
		w.LayerNormBack(b.DIn(0), n.weight.grad(b), n.bias.grad(b), b.In(0), n.weight.value(), b.Saved(1), b.Saved(0), b.DOut(0), rows, n.dim)
		return
	}
	w.RMSNormBack(b.DIn(0), n.weight.grad(b), b.In(0), n.weight.value(), b.Saved(0), b.DOut(0), rows, n.dim, n.offset)
}

// A residual is a bound out = in0 + scale·in1, with the norm of the sum where
// the compiler fused it.
type residual[F Float] struct {
	m           *Model[F]
	a, b, out   plan.RegisterRef
	normed      plan.RegisterRef
	kind        uint32 // plan.AddPlain, …
	norm, bias  operand[F]
	dim         int
	scale       F
	eps, offset F
}

func bindAdd[F Float](b *Bind[F], p *plan.AddParams) (recorder[F], error) {
	r := &residual[F]{m: b.m, a: b.In[0], b: b.In[1], out: b.Out[0], dim: b.cols(b.Out[0]),
		scale: exact[F](p.Scale), eps: exact[F](p.NormEps), offset: exact[F](p.NormOff), kind: p.Norm}
	if r.kind == plan.AddPlain {
		return r, nil
	}
	if len(b.Out) != 2 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "a sum with a norm has %d outputs", len(b.Out))
	}
	r.normed = b.Out[1]
	var err error
	if r.norm, err = b.vector("norm", r.dim); err != nil {
		return nil, err
	}
	r.bias, err = b.vector("norm_bias", r.dim)
	return r, err
}

func (r *residual[F]) record(s *step[F]) error {
	s.begin(r.a, r.b)
	s.use(&r.norm)
	s.use(&r.bias)
	rows := s.count(r.out)
	sum := s.output(r.out)
	if sum == nil {
		return s.t.Err()
	}
	s.w.Sum(sum, s.value(r.a), s.value(r.b), r.scale)
	if r.kind == plan.AddPlain {
		return s.end(keyAdd, r)
	}
	inv := s.save(rows)
	var mean []F
	if r.kind == plan.AddLayerNorm {
		mean = s.save(rows)
	}
	y := s.output(r.normed)
	switch {
	case y == nil:
		return s.t.Err()
	case r.kind == plan.AddLayerNorm:
		s.w.LayerNorm(y, mean, inv, sum, r.norm.value(), r.bias.value(), rows, r.dim, r.eps)
	default:
		s.w.RMSNorm(y, inv, sum, r.norm.value(), rows, r.dim, r.eps, r.offset)
	}
	return s.end(keyAdd, r)
}

func addBack[F Float](b *grad.OpaqueBack[F]) {
	r := b.Aux.(*residual[F])
	first, second := sinkOf(b, 0), sinkOf(b, 1)
	d := b.DOut(0)
	if r.kind != plan.AddPlain && b.DOutUsed(1) {
		// The gradient of the sum is needed twice. It is made where the first
		// term's goes, unless something is there already.
		sum := first.g
		if sum == nil || first.add {
			r.m.scratch.reset()
			sum = r.m.scratch.take(len(d))
		}
		copy(sum, d)
		w, rows := dense.Of[F](b.Work()), len(b.Saved(0))
		if r.kind == plan.AddLayerNorm {
			w.LayerNormBack(sum, r.norm.grad(b), r.bias.grad(b), b.Out(0), r.norm.value(), b.Saved(1), b.Saved(0), b.DOut(1), rows, r.dim)
		} else {
			w.RMSNormBack(sum, r.norm.grad(b), b.Out(0), r.norm.value(), b.Saved(0), b.DOut(1), rows, r.dim, r.offset)
		}
		if d = sum; !first.add {
			first.g = nil // done
		}
	}
	first.plus(dense.Of[F](b.Work()), 1, d)
	second.plus(dense.Of[F](b.Work()), r.scale, d)
}

// A gather is a bound copy of the rows that go to the head.
type gather[F Float] struct {
	m       *Model[F]
	in, out plan.RegisterRef
	dim     int
}

func bindGather[F Float](b *Bind[F]) (recorder[F], error) {
	if b.In[1] != b.m.plan.Inputs[1] {
		return nil, b.untrained("rows that a plan chooses itself")
	}
	return &gather[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: b.cols(b.Out[0])}, nil
}

func (g *gather[F]) record(s *step[F]) error {
	s.begin(g.in)
	y := s.output(g.out)
	if y == nil {
		return s.t.Err()
	}
	s.w.Gather(y, s.value(g.in), s.rows, g.dim)
	return s.end(keyGather, g)
}

func gatherBack[F Float](b *grad.OpaqueBack[F]) {
	g := b.Aux.(*gather[F])
	if d := b.DIn(0); d != nil {
		dense.Of[F](b.Work()).ScatterAdd(d, b.DOut(0), g.m.step.rows, g.dim)
	}
}
