package grad_test

import (
	"errors"
	"fmt"

	"atenia/grad"
)

// The gradient of a small loss. The parameter meets the loss twice, so its
// gradient is a sum.
func Example() {
	t := grad.New[float64](nil)
	w := t.Param([]float64{1, 2, 3, 4}, 2, 2)
	x := t.Const([]float64{1, -1}, 1, 2)
	y := t.MatMulT(x, w)                 // x·wᵀ = [-1 -1]
	loss := t.Add(t.Dot(y, y), t.Sum(w)) // 2 + 10
	if err := t.Backward(loss); err != nil {
		fmt.Println(err)
		return
	}
	dw, _ := t.Grad(w)
	_, ok := t.Grad(x)
	fmt.Println(t.Value(loss), dw, ok)

	t.MatMul(w, x)
	fmt.Println(t.Err())
	// Output:
	// [12] [-1 3 -1 3] false
	// op 4 matmul [2 2], [1 2]: shapes do not fit: want [m,k]·[k,n]
}

// A listing shows the recorded shapes and operations, without values. It can be
// attached to a fault report and parsed.
func ExampleTape_Listing() {
	t := grad.New[float64](nil)
	w := t.Param([]float64{1, 2, 3, 4}, 2, 2)
	x := t.Const([]float64{1, -1}, 1, 2)
	t.Sum(t.MatMulT(x, w))
	text := t.Listing().String()
	fmt.Print(text)

	l, err := grad.ParseListing(text)
	fmt.Println(len(l.Lines), l.Lines[2].Op, err)
	_, err = grad.ParseListing("tape float16\n")
	fmt.Println(errors.Is(err, grad.ErrText))
	// Output:
	// tape float64 recording
	// %1 [2 2] grad = param
	// %2 [1 2] = const
	// %3 [1 2] grad = matmult(%2, %1)
	// %4 [] grad = sum(%3)
	// 4 matmult <nil>
	// true
}

// With KeepGradients the gradients of intermediate results are kept.
func ExampleKeepGradients() {
	t := grad.New[float64](nil, grad.KeepGradients(), grad.Reserve(8))
	x := t.Param([]float64{1, 2}, 2)
	y := t.Mul(x, x)
	if err := t.Backward(t.Sum(t.Mul(y, y))); err != nil {
		fmt.Println(err)
		return
	}
	dy, ok := t.Grad(y)
	fmt.Println(dy, ok)
	// Output: [2 8] true
}

// With computes on a temporary tape.
func ExampleWith() {
	sum, err := grad.With(nil, func(t *grad.Tape[float64]) (float64, error) {
		x := t.Const([]float64{1, 2, 3}, 3)
		return t.Value(t.Sum(x))[0], nil
	})
	fmt.Println(sum, err)
	// Output: 6 <nil>
}
