package grad

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// An example is one use of an operation with the shapes of its operands.
type example struct {
	op     kind
	shapes [][]int
	build  func(t *Tape[float64], in []Ref) Ref
	linear bool                              // in all operands together or, if there are two, in each
	at     func(i, j int, x float64) float64 // moves operand i's element j; nil leaves it
	fdless bool                              // finite differences say something else on purpose
}

// examples has every operation but the opaque ones, and the edges of those that
// are defined in pieces.
var examples = []example{
	{op: opMatMul, shapes: [][]int{{3, 4}, {4, 2}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.MatMul(r[0], r[1]) }},
	{op: opMatMulT, shapes: [][]int{{3, 4}, {2, 4}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.MatMulT(r[0], r[1]) }},
	{op: opTranspose, shapes: [][]int{{3, 4}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Transpose(r[0]) }},
	{op: opOuter, shapes: [][]int{{3}, {5}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Outer(r[0], r[1]) }},
	{op: opDot, shapes: [][]int{{3, 2}, {3, 2}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Dot(r[0], r[1]) }},
	{op: opAdd, shapes: [][]int{{5}, {5}}, build: func(t *Tape[float64], r []Ref) Ref { return t.Add(r[0], r[1]) }},
	{op: opSub, shapes: [][]int{{5}, {5}}, build: func(t *Tape[float64], r []Ref) Ref { return t.Sub(r[0], r[1]) }},
	{op: opMul, shapes: [][]int{{2, 3}, {2, 3}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Mul(r[0], r[1]) }},
	{op: opAddRow, shapes: [][]int{{2, 2, 3}, {3}}, build: func(t *Tape[float64], r []Ref) Ref { return t.AddRow(r[0], r[1]) }},
	{op: opScaleBy, shapes: [][]int{{4}, {1}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.ScaleBy(r[0], r[1]) }},
	{op: opScale, shapes: [][]int{{5}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Scale(r[0], -1.7) }},
	{op: opNeg, shapes: [][]int{{5}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Neg(r[0]) }},
	{op: opSigmoid, shapes: [][]int{{6}}, at: spread, build: func(t *Tape[float64], r []Ref) Ref { return t.Sigmoid(r[0]) }},
	{op: opSoftplus, shapes: [][]int{{6}}, at: spread, build: func(t *Tape[float64], r []Ref) Ref { return t.Softplus(r[0]) }},
	{op: opSiLU, shapes: [][]int{{6}}, at: spread, build: func(t *Tape[float64], r []Ref) Ref { return t.SiLU(r[0]) }},
	{op: opSoftmax, shapes: [][]int{{3, 4}}, at: spread, build: func(t *Tape[float64], r []Ref) Ref { return t.Softmax(r[0]) }},
	{op: opCrossEntropy, shapes: [][]int{{4, 5}}, at: spread, build: func(t *Tape[float64], r []Ref) Ref { return t.CrossEntropy(r[0], []int32{2, 9, 0, 4}) }},
	{op: opCrossEntropy, shapes: [][]int{{2, 3}}, build: func(t *Tape[float64], r []Ref) Ref { return t.CrossEntropy(r[0], []int32{-100, 3}) }},
	{op: opEmbed, shapes: [][]int{{5, 3}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Embed(r[0], []int32{3, 1, 3, 0}) }},
	{op: opL2Norm, shapes: [][]int{{2, 3}}, build: func(t *Tape[float64], r []Ref) Ref { return t.L2Norm(r[0]) }},
	{op: opL2Norm, shapes: [][]int{{3}}, at: zero, fdless: true, build: func(t *Tape[float64], r []Ref) Ref { return t.L2Norm(r[0]) }},
	{op: opSum, shapes: [][]int{{2, 3}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Sum(r[0]) }},
	{op: opL2Retention, shapes: [][]int{{5}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.L2Retention(r[0], 0.9) }},
	{op: opConcat, shapes: [][]int{{2, 3}, {1, 3}}, build: func(t *Tape[float64], r []Ref) Ref { return t.Concat(0, r...) }},
	{op: opConcat, shapes: [][]int{{2, 3}, {2, 2}}, build: func(t *Tape[float64], r []Ref) Ref { return t.Concat(1, r...) }},
	{op: opConcat, shapes: [][]int{{2, 1, 2}, {2, 3, 2}}, build: func(t *Tape[float64], r []Ref) Ref { return t.Concat(1, r[0], r[1], r[0]) }},
	{op: opSlice, shapes: [][]int{{7}}, linear: true, build: func(t *Tape[float64], r []Ref) Ref { return t.Slice(r[0], 2, 1, 3) }},
	{op: opNormSiLU, shapes: [][]int{{5}}, build: func(t *Tape[float64], r []Ref) Ref { return t.NormSiLU(r[0]) }},
	{op: opNormSiLU, shapes: [][]int{{3}}, at: tiny, build: func(t *Tape[float64], r []Ref) Ref { return t.NormSiLU(r[0]) }},
	{op: opSphere, shapes: [][]int{{3, 4}}, build: func(t *Tape[float64], r []Ref) Ref { return t.SphereProject(r[0]) }},
	{op: opSphere, shapes: [][]int{{2, 3}}, at: tiny, build: func(t *Tape[float64], r []Ref) Ref { return t.SphereProject(r[0]) }},
	{op: opKLRetention, shapes: [][]int{{3, 4}, {3, 4}}, at: prior, build: func(t *Tape[float64], r []Ref) Ref { return t.KLRetention(r[0], r[1], 0.93, 0.4) }},
	{op: opStraight, shapes: [][]int{{4}}, fdless: true, build: func(t *Tape[float64], r []Ref) Ref { return t.StraightThrough(r[0], 0.1) }},
}

func spread(_, _ int, x float64) float64 { return 4 * x }
func zero(_, _ int, _ float64) float64   { return 0 }
func tiny(_, _ int, x float64) float64   { return 1e-9 * x } // below the clamp of 1e-8

// prior makes the second operand a distribution's entries, one below the clamp.
func prior(i, j int, x float64) float64 {
	if i == 0 {
		return x
	}
	if j == 6 {
		return 1e-9
	}
	return 0.1 + 0.2*math.Abs(x)
}

func (e example) name(t *Tape[float64], i int) string {
	return fmt.Sprintf("%s-%d", t.rules[e.op].name, i)
}

// values are the operands' elements.
func (e example) values(r *rand.Rand) [][]float64 {
	in := make([][]float64, len(e.shapes))
	for i, s := range e.shapes {
		n := 1
		for _, d := range s {
			n *= d
		}
		in[i] = random(r, n)
		for j, x := range in[i] {
			if e.at != nil {
				in[i][j] = e.at(i, j, x)
			}
		}
	}
	return in
}

func random(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 2*r.Float64() - 1
	}
	return v
}

// run records the example and returns its result and operands.
func (e example) run(t testing.TB, tape *Tape[float64], in [][]float64) (Ref, []Ref) {
	t.Helper()
	tape.Reset()
	refs := make([]Ref, len(in))
	for i, v := range in {
		refs[i] = tape.Input(v, e.shapes[i]...)
	}
	y := e.build(tape, refs)
	if err := tape.Err(); err != nil {
		t.Fatal(err)
	}
	return y, refs
}

// gradients are those of <d, result>.
func (e example) gradients(t testing.TB, tape *Tape[float64], in [][]float64, d []float64) [][]float64 {
	t.Helper()
	y, refs := e.run(t, tape, in)
	if err := tape.BackwardFrom(y, d); err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(in))
	for i, r := range refs {
		g, _ := tape.Grad(r)
		out[i] = slices.Clone(g)
	}
	return out
}

// wrong returns the first thing wrong with the gradients that tape finds, or
// "": compared with central differences, for linear operations by
// <Ax, d> = <x, Aᵀd>, and at kinks with the value that is defined there.
func (e example) wrong(t testing.TB, tape *Tape[float64], seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	in := e.values(r)
	y, _ := e.run(t, tape, in)
	value := slices.Clone(tape.Value(y))
	d := random(r, len(value))
	g := e.gradients(t, tape, in, d)
	if e.fdless {
		for j, x := range g[0] {
			if want := map[kind]float64{opL2Norm: 0, opStraight: d[j%len(d)]}[e.op]; x != want {
				return fmt.Sprintf("gradient %d is %g, defined as %g", j, x, want)
			}
		}
		return ""
	}
	for i := range in {
		for j := range in[i] {
			if len(g[i]) == 0 {
				return fmt.Sprintf("operand %d has no gradient", i)
			}
			old := in[i][j]
			h := 1e-6
			if math.Abs(old) < 1e-7 {
				h = 1e-12 // stay below the clamp
			}
			in[i][j] = old + h
			y, _ = e.run(t, tape, in)
			up := dotOf(tape.Value(y), d)
			in[i][j] = old - h
			y, _ = e.run(t, tape, in)
			down := dotOf(tape.Value(y), d)
			in[i][j] = old
			fd := (up - down) / (2 * h)
			// Both sides are known to rounding over h, and to h².
			slack := 1e-8*max(math.Abs(fd), 1) + 1e-15*(math.Abs(up)+math.Abs(down))/h
			if diff := math.Abs(fd - g[i][j]); !(diff <= slack) {
				return fmt.Sprintf("operand %d, element %d: gradient %g, differences say %g", i, j, g[i][j], fd)
			}
		}
		if e.linear {
			left, right := dotOf(value, d), dotOf(in[i], g[i])
			if math.Abs(left-right) > 1e-14*float64(len(value)+len(in[i])) {
				return fmt.Sprintf("operand %d: <Ax,d> = %.17g, <x,Aᵀd> = %.17g", i, left, right)
			}
		}
	}
	return ""
}

func dotOf(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func TestGradients(t *testing.T) {
	t.Parallel()
	tape := New[float64](nil)
	seen := map[kind]bool{opNone: true, opOpaque: true}
	for i, e := range examples {
		seen[e.op] = true
		t.Run(e.name(tape, i), func(t *testing.T) {
			for seed := range uint64(3) {
				if s := e.wrong(t, tape, seed); s != "" {
					t.Fatal(s)
				}
			}
		})
	}
	for k := range numKinds {
		if !seen[k] {
			t.Errorf("no example of %s", tape.rules[k].name)
		}
	}
}

// TestTwiceTheSame: an operand used twice gets the sum of both gradients.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	tape := New[float64](nil)
	x := []float64{0.5, -2, 3}
	for _, c := range []struct {
		name string
		y    func(Ref) Ref
		want func(x float64) float64
	}{
		{"add", func(a Ref) Ref { return tape.Add(a, a) }, func(float64) float64 { return 2 }},
		{"sub", func(a Ref) Ref { return tape.Sub(a, a) }, func(float64) float64 { return 0 }},
		{"mul", func(a Ref) Ref { return tape.Mul(a, a) }, func(x float64) float64 { return 2 * x }},
		{"dot", func(a Ref) Ref { return tape.Dot(a, a) }, func(x float64) float64 { return 2 * x }},
		{"outer", func(a Ref) Ref { return tape.Outer(a, a) }, func(float64) float64 { return 3 }},
	} {
		tape.Reset()
		a := tape.Input(x, 3)
		if err := tape.Backward(tape.Sum(c.y(a))); err != nil {
			t.Fatal(err)
		}
		g, _ := tape.Grad(a)
		for i := range x {
			if math.Abs(g[i]-c.want(x[i])) > 1e-14 {
				t.Errorf("%s(a, a): gradient %g at %g, want %g", c.name, g[i], x[i], c.want(x[i]))
			}
		}
	}
}
