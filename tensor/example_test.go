package tensor_test

import (
	"fmt"

	"atenia/tensor"
)

// A view gives bytes a type and a shape, and says when they do not fit.
func Example() {
	d, err := tensor.ParseDType("q4_0")
	if err != nil {
		fmt.Println(err)
		return
	}
	shape := tensor.Shape{2, 64}
	v, err := tensor.NewView(d, shape, make([]byte, 2*36)) // a row is two blocks of 18 bytes
	fmt.Println(v.DType, v.Shape, len(v.Data), err)
	_, err = tensor.NewView(d, shape, make([]byte, 70))
	fmt.Println(err)
	fmt.Println(tensor.F16ToF32(tensor.F32ToF16(0.1)))
	// Output:
	// Q4_0 [2, 64] 72 <nil>
	// Q4_0 [2, 64] needs 72 bytes, got 70
	// 0.099975586
}
