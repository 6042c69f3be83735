package grad_test

import (
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
