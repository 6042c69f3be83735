package place_test

import (
	"fmt"

	"atenia/place"
)

// What bounded a token follows from the figures of the run and from what the machine can.
func Example() {
	r := place.LastRun{Model: "model.gguf", Form: "mapped", Threads: 2}
	r.Decode = place.StepTotals{Steps: 100, Tokens: 100, Seconds: 5}
	r.Computing, r.WeightBytes, r.WeightType, r.WeightBits, r.Operations = 0.05, 2e9, "BF16", 16, 2e9
	r.Cores = 2
	r.Judge(place.RunRoofs{Memory: 45e9, Float: 500e9})
	fmt.Println(r.Bound)
	fmt.Println(r.Advice.What)
	fmt.Println(r.Advice.Command)
	// Output:
	// memory
	// weights of type q8_0 are 1.9 times smaller than BF16, and a token is about as much faster
	// atenia quantize model.gguf smaller.gguf --type q8_0
}
