package biquad_test

import (
	"fmt"

	"atenia/flow/node/biquad"
)

// A notch at a quarter of the rate has its zeros at ±i.
func ExampleDesign() {
	c, ok := biquad.Design("notch", 12000, 1, 0, 48000)
	fmt.Printf("%.3f %v\n", c, ok)
	// Output: [0.667 0.000 0.667 0.000 0.333] true
}
