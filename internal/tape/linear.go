package tape

import (
	"math/bits"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A linear is a product of rows with a weight, with its bias and low-rank pair:
//
//	y = x·Wᵀ + bias + scale·(drop(x)·Aᵀ)·Bᵀ
type linear[F Float] struct {
	m       *Model[F]
	in, out int
	w, bias operand[F]
	a, b    operand[F] // [rank, in], [out, rank]; none if rank is 0
	rank    int
	scale   F
	drop    float64
	id      uint64 // distinguishes the masks of linears
}

// attach gives a product the low-rank pair of the tensor that holds its weight.
func (m *Model[F]) attach(l *linear[F], w *weight[F], lo int) {
	l.m = m
	m.linears++
	l.id = uint64(m.linears)
	if w.order != nil { // pairs are of rows
		return
	}
	for _, r := range pick(nil, w.runs, lo, lo+l.in*l.out, 0) {
		pair := m.params.loras[r.p.Name]
		if pair == nil || r.n != l.in*l.out || r.at%l.in != 0 {
			continue
		}
		l.rank = pair.A.Shape[0]
		l.scale, l.drop = F(pair.Scale), pair.Dropout
		first := r.at / l.in
		l.a = m.used(operand[F]{leaf: m.borrow(run[F]{p: pair.A, n: pair.A.Len()}), n: pair.A.Len()})
		l.b = m.used(operand[F]{leaf: m.borrow(run[F]{p: pair.B, at: first * l.rank, n: l.out * l.rank}), n: l.out * l.rank})
	}
}

// use makes the weights inputs of the block.
func (l *linear[F]) use(s *step[F]) {
	s.use(&l.w)
	s.use(&l.bias)
	s.use(&l.a)
	s.use(&l.b)
}

// forward writes the product of rows of x to y.
func (l *linear[F]) forward(s *step[F], y, x []F, rows int) {
	w := s.w
	w.MulT(y, x, l.w.value(), rows, l.in, l.out)
	if bias := l.bias.value(); bias != nil {
		for r := range rows {
			add(y[r*l.out:(r+1)*l.out], bias)
		}
	}
	if l.rank > 0 {
		low := l.m.scratch.take(rows * l.rank)
		w.MulT(low, l.dropped(s.batch, x, rows), l.a.value(), rows, l.in, l.rank)
		scaleBy(low, l.scale)
		w.AddMulT(y, low, l.b.value(), rows, l.rank, l.out)
	}
}

// back adds the gradients of the weights, and that of x to dx.
func (l *linear[F]) back(b *grad.OpaqueBack[F], dx *sink[F], dy, x []F, rows int) {
	w := dense.Of[F](b.Work())
	dx.mul(w, dy, l.w.value(), rows, l.out, l.in)
	if g := l.w.grad(b); g != nil {
		w.AddTMul(g, dy, x, l.out, rows, l.in)
	}
	if g := l.bias.grad(b); g != nil {
		for r := range rows {
			add(g, dy[r*l.out:(r+1)*l.out])
		}
	}
	if l.rank > 0 {
		l.lowBack(b, dx, dy, x, rows)
	}
}

// lowBack does the same for the low-rank pair.
func (l *linear[F]) lowBack(b *grad.OpaqueBack[F], dx *sink[F], dy, x []F, rows int) {
	w, batch := dense.Of[F](b.Work()), l.m.step.batch
	low, dlow := l.m.scratch.take(rows*l.rank), l.m.scratch.take(rows*l.rank)
	x = l.dropped(batch, x, rows)
	if g := l.b.grad(b); g != nil {
		w.MulT(low, x, l.a.value(), rows, l.in, l.rank)
		scaleBy(low, l.scale)
		w.AddTMul(g, dy, low, l.out, rows, l.rank)
	}
	w.Mul(dlow, dy, l.b.value(), rows, l.out, l.rank)
	scaleBy(dlow, l.scale)
	if g := l.a.grad(b); g != nil {
		w.AddTMul(g, dlow, x, l.rank, rows, l.in)
	}
	switch {
	case dx.g == nil:
	case !l.drops(batch):
		dx.mul(w, dlow, l.a.value(), rows, l.rank, l.in)
	default:
		part := l.m.scratch.take(rows * l.in)
		w.Mul(part, dlow, l.a.value(), rows, l.rank, l.in)
		l.mask(part, batch.Seed)
		add(dx.sum(), part)
	}
}

func (l *linear[F]) drops(b *Batch) bool { return l.drop > 0 && b.Seed != 0 }

// dropped returns x after dropout.
func (l *linear[F]) dropped(b *Batch, x []F, rows int) []F {
	if !l.drops(b) {
		return x
	}
	y := l.m.scratch.take(rows * l.in)
	copy(y, x)
	l.mask(y, b.Seed)
	return y
}

// mask sets a share of x to zero and scales the rest, by a hash of the position
// of an element: the backward pass and recomputation use the same mask.
func (l *linear[F]) mask(x []F, seed uint64) {
	keep := F(1 / (1 - l.drop))
	limit := uint64(l.drop * (1 << 32))
	for i := range x {
		if mix(seed, l.id, uint64(i))>>32 < limit {
			x[i] = 0
		} else {
			x[i] *= keep
		}
	}
}

// mix hashes three numbers, after wyhash's mixing of two 64-bit words.
func mix(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	hi, lo = bits.Mul64(hi^lo^c, 0x8ebc6af09c88c6e3)
	hi, lo = bits.Mul64(hi^lo^0x589965cc75374cc3, c^0x1d8e4e27c47d124f)
	return hi ^ lo
}
