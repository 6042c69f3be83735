package grad_test

import (
	"fmt"
	"math"

	"atenia/grad"
)

// expRows computes y = exp(x·w) as one operation: the tape keeps y alone, since
// dy/d(x·w) = y.
const expRows grad.Key = "example.exprows"

func recordExpRows(t *grad.Tape[float64], x, w grad.Ref) grad.Ref {
	m, k, n := t.Shape(x)[0], t.Shape(x)[1], t.Shape(w)[1]
	out := t.Alloc(m, n)
	y := t.Data(out)
	t.Work().Mul(y, t.Value(x), t.Value(w), m, k, n)
	for i := range y {
		y[i] = math.Exp(y[i])
	}
	if t.Opaque(expRows, []grad.Ref{x, w}, []grad.Ref{out}, nil, k) != nil {
		return 0 // the tape has the error
	}
	return out
}

func expRowsBack(b *grad.OpaqueBack[float64]) {
	k := b.Aux.(int)
	m, n := len(b.In(0))/k, len(b.In(1))/k
	d := make([]float64, m*n)
	for i, y := range b.Out(0) {
		d[i] = y * b.DOut(0)[i]
	}
	if dx := b.DIn(0); dx != nil {
		b.Work().AddMulT(dx, d, b.In(1), m, n, k)
	}
	if dw := b.DIn(1); dw != nil {
		b.Work().AddTMul(dw, b.In(0), d, k, m, n)
	}
}

// An operation that the package does not have: the caller computes its values and
// registers a function for its gradients.
func ExampleTape_Opaque() {
	var reg grad.Registry[float64]
	reg.Register(expRows, expRowsBack)
	threads := grad.NewThreads(2)
	defer threads.Close()
	t := grad.New(&reg, grad.WithThreads(threads))
	x := t.Input([]float64{1, 2}, 1, 2)
	w := t.Param([]float64{0, 1, 0, -0.5}, 2, 2)
	y := recordExpRows(t, x, w)
	if err := t.Backward(t.Sum(y)); err != nil {
		fmt.Println(err)
		return
	}
	dx, _ := t.Grad(x)
	dw, _ := t.Grad(w)
	fmt.Println(t.Value(y), dx, dw)
	// Output: [1 1] [1 -0.5] [1 1 2 2]
}

// squares squares a range of numbers.
type squares []float64

func (s squares) Range(_, lo, hi int) {
	for i, v := range s[lo:hi] {
		s[lo+i] = v * v
	}
}

// Threads also run the caller's own loops.
func ExampleThreads_Range() {
	threads := grad.NewThreads(3)
	defer threads.Close()
	s := squares{1, 2, 3, 4, 5, 6, 7}
	threads.Range(len(s), 2, s)
	fmt.Println(s, threads.Count())
	// Output: [1 4 9 16 25 36 49] 3
}
