package tape

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"atenia/internal/plan"
)

// A Bind is an adapter's view of an instruction. The adapter makes operands
// through the model, which records their use by this instruction.
type Bind[F Float] struct {
	plan.Binding[plan.RegisterRef, *weight[F]]
	m *Model[F]
}

// A binder is a model that binds its plan: it implements [plan.Binder].
type binder[F Float] struct{ m *Model[F] }

// Register returns r: which buffer of the tape it is, every step says.
func (b binder[F]) Register(r plan.RegisterRef) plan.RegisterRef { return r }

// Weight returns the weight that a recipe makes from the file's tensors.
func (b binder[F]) Weight(r plan.WeightRef) (*weight[F], bool) { return b.m.weights[r], true }

// Open begins the list of weights that an instruction reads.
func (b binder[F]) Open(i plan.Binding[plan.RegisterRef, *weight[F]]) *Bind[F] {
	b.m.uses = append(b.m.uses, nil)
	return &Bind[F]{Binding: i, m: b.m}
}

// cols returns the width of a register.
func (b *Bind[F]) cols(r plan.RegisterRef) int { return int(b.m.plan.Registers[r].Cols) }

// untrained says that a variant of the instruction has no gradient.
func (b *Bind[F]) untrained(format string, args ...any) error {
	return &UntrainedError{b.Ins.Op, fmt.Sprintf(format, args...)}
}

// weight returns the weight in a slot, of n elements, or nil when the slot is
// optional and empty.
func (b *Bind[F]) weight(slot string, n int) (*weight[F], error) {
	w, ok, err := b.Weight(slot)
	if !ok || err != nil {
		return nil, err
	}
	if size, _ := w.shape.Size(); size != n {
		return nil, b.WeightErrorf(slot, "shape %v, want %d elements", w.shape, n)
	}
	return w, nil
}

// vector returns the weight in a slot as an operand of n elements; the zero
// operand when the slot is optional and empty.
func (b *Bind[F]) vector(slot string, n int) (operand[F], error) {
	w, err := b.weight(slot, n)
	if w == nil || err != nil {
		return operand[F]{}, err
	}
	return b.m.operand(w, 0, n), nil
}

// linear returns the product with the weight in a slot and the bias in another
// ("" = the op has none).
func (b *Bind[F]) linear(slot, bias string, in, out int) (linear[F], error) {
	l := linear[F]{in: in, out: out}
	w, err := b.weight(slot, in*out)
	if w == nil || err != nil {
		return l, err
	}
	l.w = b.m.operand(w, 0, in*out)
	if bias != "" {
		if l.bias, err = b.vector(bias, out); err != nil {
			return l, err
		}
	}
	b.m.attach(&l, w, 0)
	return l, nil
}

// exact returns a parameter of the plan in the precision of F. Plans hold
// float32; for gradient checks in float64 it returns the intended number: the
// reciprocal or the square root, or the reciprocal of the square root, of a
// whole number, or else the shortest decimal that rounds to it. In float32 it
// is the parameter itself, as in inference.
func exact[F Float](v float32) F {
	x := float64(v)
	if isSingle[F]() || v == 0 {
		return F(v)
	}
	const most = 1 << 20
	for _, inverse := range []func(n float64) float64{
		func(n float64) float64 { return n },
		func(n float64) float64 { return 1 / n },
		math.Sqrt,
		func(n float64) float64 { return 1 / math.Sqrt(n) },
	} {
		for _, n := range []float64{math.Round(x), math.Round(1 / x), math.Round(x * x), math.Round(1 / (x * x))} {
			if n >= 1 && n < most && float32(inverse(n)) == v {
				return F(inverse(n))
			}
		}
	}
	d, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
	if err != nil {
		return F(v)
	}
	return F(d)
}

// isSingle reports whether F is float32.
func isSingle[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }
