package tape

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/tensor"
)

// The linear adapters satisfy <A x, y> = <x, Aᵀ y> to the last digits, for all
// x and y: there is no step size.

// adjoint runs f on a tape with back under a key of its own and compares the
// two products for every input; offset is the constant that f adds to a linear
// function.
func adjoint(t *testing.T, what string, ins [][]float64, out int, f func(w *dense.Work[float64], y []float64), back func(b *grad.OpaqueBack[float64], dx []*sink[float64]), offset []float64) {
	t.Helper()
	reg := &grad.Registry[float64]{}
	reg.Register("adjoint", func(b *grad.OpaqueBack[float64]) {
		var dx []*sink[float64]
		for i := range ins {
			s := sinkOf(b, i)
			dx = append(dx, &s)
		}
		back(b, dx)
	})
	tape := grad.New(reg)
	var refs []grad.Ref
	for _, v := range ins {
		refs = append(refs, tape.Borrow(v, len(v)))
	}
	y := tape.Alloc(out)
	f(dense.Of[float64](tape.Work()), tape.Data(y))
	if err := tape.Opaque("adjoint", refs, []grad.Ref{y}, nil, nil); err != nil {
		t.Fatal(err)
	}
	d := random(out)
	left := 0.0
	for i, v := range tape.Value(y) {
		if offset != nil {
			v -= offset[i]
		}
		left += v * d[i]
	}
	if err := tape.BackwardFrom(y, d); err != nil {
		t.Fatal(err)
	}
	for i, v := range ins {
		g, _ := tape.Grad(refs[i])
		if right := dense.Dot(v, g); !(math.Abs(left-right) <= 1e-12*max(1, math.Abs(left))) {
			t.Errorf("%s, input %d: <Ax, y> is %.15g, <x, Aᵀy> %.15g", what, i, left, right)
		}
	}
}

var rng = rand.New(rand.NewPCG(11, 12))

func random(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// fixed is an operand without a gradient; input i of the block where at says so.
func fixed(v []float64, at int) operand[float64] {
	return operand[float64]{leaf: &leaf[float64]{value: v}, n: len(v), at: at}
}

func TestAdjoints(t *testing.T) {
	const rows, in, out, rank = 5, 6, 4, 2
	m := &Model[float64]{}
	m.step.batch = &Batch{}
	x, w, bias := random(rows*in), random(out*in), random(out)
	all := make([]float64, 0, rows*out)
	for range rows {
		all = append(all, bias...)
	}
	// A product is linear in its rows and in its weights.
	l := &linear[float64]{m: m, in: in, out: out, w: fixed(w, 1), bias: fixed(bias, -1)}
	step := func(work *dense.Work[float64]) *step[float64] {
		return &step[float64]{m: m, w: work, batch: m.step.batch}
	}
	adjoint(t, "linear", [][]float64{x, w}, rows*out,
		func(work *dense.Work[float64], y []float64) { l.forward(step(work), y, x, rows) },
		func(b *grad.OpaqueBack[float64], dx []*sink[float64]) { l.back(b, dx[0], b.DOut(0), x, rows) }, all)

	// Its low-rank pair is linear in x, in A and in B, dropout included.
	m.step.batch.Seed = 7
	a, b := random(rank*in), random(out*rank)
	low := &linear[float64]{m: m, in: in, out: out, w: fixed(make([]float64, out*in), -1), bias: operand[float64]{at: -1},
		rank: rank, scale: 0.7, drop: 0.3, a: fixed(a, 1), b: []lowRows[float64]{{fixed(b, 2), 0, out}}}
	adjoint(t, "low-rank pair", [][]float64{x, a, b}, rows*out,
		func(work *dense.Work[float64], y []float64) { low.forward(step(work), y, x, rows) },
		func(b *grad.OpaqueBack[float64], dx []*sink[float64]) { low.back(b, dx[0], b.DOut(0), x, rows) }, nil)

	// Rotation and the scale by position are linear in q and k.
	att := &attention[float64]{m: m, heads: dense.Heads[float64]{Q: 2, KV: 1, Dim: 6}, beta: 0.4, original: 2}
	for _, interleaved := range []bool{false, true} {
		r := &ropes[float64]{scale: 1.2}
		for pos := range rows {
			r.line([]float64{1, 0.3}, pos)
			m.step.pos = append(m.step.pos[:pos], int32(pos))
		}
		r.inv, att.rope, att.interleaved = []float64{1, 0.3}, r, interleaved
		q, k := random(rows*12), random(rows*6)
		adjoint(t, "rope", [][]float64{q}, rows*12,
			func(work *dense.Work[float64], y []float64) {
				copy(y, q)
				att.turn(work, y, append([]float64(nil), k...), rows, false)
			},
			func(b *grad.OpaqueBack[float64], dx []*sink[float64]) {
				g := dx[0].sum()
				copy(g, b.DOut(0))
				att.turn(dense.Of[float64](b.Work()), g, make([]float64, rows*6), rows, true)
			}, nil)
	}
}

// TestRecipeAdjoint: a recipe's weight, a constant aside, is linear in each
// tensor of the file.
func TestRecipeAdjoint(t *testing.T) {
	tensors := []*Param[float64]{
		{Shape: tensor.Shape{3, 2}, Value: random(6), Grad: make([]float64, 6)},
		{Shape: tensor.Shape{5, 2}, Value: random(10), Grad: make([]float64, 10)},
	}
	w := &weight[float64]{runs: []run[float64]{{p: tensors[0], n: 6}, {p: tensors[1], to: 6, n: 10}}}
	w.runs = pick(nil, w.runs, 4, 16, 0)
	w.permute(2, 2, 3, 2)
	for _, r := range w.runs {
		at := 0
		if r.p == tensors[1] {
			at = 1
		}
		w.parts = append(w.parts, fixed(r.p.Value, at))
	}
	reg := &grad.Registry[float64]{}
	register(reg)
	tape := grad.New(reg)
	refs := []grad.Ref{tape.Borrow(tensors[0].Value, 6), tape.Borrow(tensors[1].Value, 10)}
	y := tape.Alloc(12)
	w.fill(tape.Data(y))
	if err := tape.Opaque(keyWeight, refs, []grad.Ref{y}, nil, w); err != nil {
		t.Fatal(err)
	}
	d := random(12)
	left := dense.Dot(tape.Value(y), d)
	if err := tape.BackwardFrom(y, d); err != nil {
		t.Fatal(err)
	}
	right := 0.0
	for i, r := range refs {
		g, _ := tape.Grad(r)
		right += dense.Dot(tensors[i].Value, g)
	}
	if math.Abs(left-right) > 1e-13 {
		t.Errorf("<Ax, y> is %.15g, <x, Aᵀy> %.15g", left, right)
	}
}

// TestImageAdjoint: what becomes of rows among which those of an image are put, or
// to which they are added, is linear in the rows apart from a constant.
func TestImageAdjoint(t *testing.T) {
	const rows, dim = 6, 3
	m := &Model[float64]{}
	values := make([]float32, 2*dim)
	m.step.batch = &Batch{Images: []Image{{At: 1, Len: 2, Rows: values, Deep: [][]float32{values}}, {At: 4, Len: 1, Rows: values[dim:], Deep: [][]float32{values[dim:]}}}}
	for i := range values {
		values[i] = float32(i) + 0.5
	}
	for key, aux := range map[grad.Key]any{keyScatter: &scatter[float64]{m: m, dim: dim}, keyInject: &inject[float64]{m: m, dim: dim}} {
		reg := &grad.Registry[float64]{}
		register(reg)
		tape := grad.New(reg)
		x, d := random(rows*dim), random(rows*dim)
		in, y := tape.Borrow(x, len(x)), tape.Alloc(rows*dim)
		left := 0.0
		for i := range x {
			row, inside := i/dim, false
			for _, p := range m.step.batch.Images {
				inside = inside || row >= p.At && row < p.At+p.Len
			}
			if key == keyInject || !inside { // the rest is constant
				left += x[i] * d[i]
			}
		}
		copy(tape.Data(y), x)
		if err := tape.Opaque(key, []grad.Ref{in}, []grad.Ref{y}, nil, aux); err != nil {
			t.Fatal(err)
		}
		if err := tape.BackwardFrom(y, d); err != nil {
			t.Fatal(err)
		}
		g, _ := tape.Grad(in)
		if right := dense.Dot(x, g); math.Abs(left-right) > 1e-13 {
			t.Errorf("%s: <Ax, y> is %.15g, <x, Aᵀy> %.15g", key, left, right)
		}
	}
}
