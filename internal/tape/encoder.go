package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// headActs are the functions that follow a projection of an encoder.
var headActs = map[uint32]dense.Activation{
	plan.HeadLinear: dense.Identity, plan.HeadTanh: dense.Tanh, plan.HeadGELU: dense.GELUErf, plan.HeadReLU: dense.ReLU,
}

// bindLast binds what follows the layers: the head of a decoder, or a projection of
// an encoder's vectors.
func bindLast[F Float](b *Bind[F], p *plan.HeadParams) (recorder[F], error) {
	if b.m.compiled.Config.Encoder != nil {
		return bindProjection(b, p)
	}
	return bindHead(b, p)
}

// A projection is a bound dense layer after the pooling of an encoder: act(x·Wᵀ +
// bias)·scale.
type projection[F Float] struct {
	m       *Model[F]
	in, out plan.RegisterRef
	product linear[F]
	act     dense.Activation
	scale   F
}

func bindProjection[F Float](b *Bind[F], p *plan.HeadParams) (recorder[F], error) {
	act, ok := headActs[p.Act]
	if !ok || p.Softcap != 0 {
		return nil, b.untrained("a projection with function %d and limit %v", p.Act, p.Softcap)
	}
	x := &projection[F]{m: b.m, in: b.In[0], out: b.Out[0], act: act, scale: exact[F](p.Scale)}
	var err error
	x.product, err = b.linear("weight", "bias", int(p.Dim), int(p.Vocab))
	return x, err
}

func (x *projection[F]) record(s *step[F]) error {
	s.begin(x.in)
	x.product.use(s)
	rows := s.count(x.in)
	before := s.keep(rows * x.product.out)
	y := s.output(x.out)
	if y == nil {
		return s.t.Err()
	}
	x.product.forward(s, before, s.value(x.in), rows)
	s.w.Activate(x.act, y, before)
	scaleBy(y, x.scale)
	return s.end(keyProjection, x)
}

func projectionBack[F Float](b *grad.OpaqueBack[F]) {
	x := b.Aux.(*projection[F])
	w, scratch, before := dense.Of[F](b.Work()), &x.m.scratch, b.Saved(0)
	scratch.reset()
	dy := append(scratch.take(len(before))[:0], b.DOut(0)...)
	scaleBy(dy, x.scale)
	d := scratch.zeros(len(before))
	w.ActivateBack(x.act, d, before, dy)
	dx := sinkOf(b, 0)
	x.product.back(b, &dx, d, b.In(0), len(before)/x.product.out)
}

// A pooling is a bound reduction of the rows of a document to one vector: their
// mean, or a row that was chosen before; divided by its length or not.
type pooling[F Float] struct {
	m       *Model[F]
	in, out plan.RegisterRef
	dim     int
	mean    bool // of all rows
	chosen  bool // the input has one row of each document
	unit    bool
}

func bindPool[F Float](b *Bind[F], p *plan.PoolParams) (recorder[F], error) {
	if p.Kind > plan.PoolMean {
		return nil, b.untrained("pooling of kind %d", p.Kind)
	}
	x := &pooling[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: b.cols(b.Out[0]), unit: p.Normalize != 0}
	x.chosen = b.m.plan.Registers[x.in].Rows == plan.RowsRequested
	x.mean = p.Kind == plan.PoolMean && !x.chosen
	return x, nil
}

func (x *pooling[F]) record(s *step[F]) error {
	s.begin(x.in)
	docs := s.count(x.out)
	lengths := s.keep(docs)
	y := s.output(x.out)
	if y == nil {
		return s.t.Err()
	}
	from, first := s.value(x.in), 0
	for i, n := range s.batch.Lens {
		dst := y[i*x.dim : (i+1)*x.dim]
		switch {
		case x.chosen:
			copy(dst, from[i*x.dim:])
		case x.mean:
			clear(dst)
			for r := first; r < first+n; r++ {
				add(dst, from[r*x.dim:(r+1)*x.dim])
			}
			scaleBy(dst, 1/F(n))
		default:
			copy(dst, from[int(s.rows[i])*x.dim:])
		}
		first += n
		if x.unit {
			lengths[i] = F(length(dst))
			scaleBy(dst, 1/lengths[i])
		}
	}
	return s.end(keyPool, x)
}

// length is that of a vector; of a zero vector it counts as 1e-12, as in
// torch.nn.functional.normalize.
func length[F Float](v []F) float64 {
	sum := 0.0
	for _, a := range v {
		sum += float64(a) * float64(a)
	}
	return max(math.Sqrt(sum), 1e-12)
}

// unitBack writes the gradient of a vector before its division by n, which made it
// u, given that of u.
func unitBack[F Float](dx, u, du []F, n F) {
	along := dense.Dot(u, du)
	for k := range dx {
		dx[k] = (du[k] - u[k]*along) / n
	}
}

func poolBack[F Float](b *grad.OpaqueBack[F]) {
	x := b.Aux.(*pooling[F])
	dx, s := b.DIn(0), &x.m.step
	if dx == nil {
		return
	}
	x.m.scratch.reset()
	one, first := x.m.scratch.take(x.dim), 0
	for i, n := range s.batch.Lens {
		d := b.DOut(0)[i*x.dim : (i+1)*x.dim]
		if x.unit {
			unitBack(one, b.Out(0)[i*x.dim:(i+1)*x.dim], d, b.Saved(0)[i])
			d = one
		}
		switch {
		case x.chosen:
			add(dx[i*x.dim:(i+1)*x.dim], d)
		case x.mean:
			for r := first; r < first+n; r++ {
				dense.Axpy(dx[r*x.dim:(r+1)*x.dim], 1/F(n), d)
			}
		default:
			at := int(s.rows[i])
			add(dx[at*x.dim:(at+1)*x.dim], d)
		}
		first += n
	}
}
