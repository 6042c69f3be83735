package resample_test

import (
	"fmt"

	"atenia/flow/node/resample"
)

// A filter for twice the rate that lets a thousandth through where it must not.
func ExampleKaiser() {
	h := resample.Kaiser(60, 2)
	fmt.Printf("%d taps, %.4f in the middle\n", len(h), h[len(h)/2])
	// Output: 45 taps, 0.4999 in the middle
}
