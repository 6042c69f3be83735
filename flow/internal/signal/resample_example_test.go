package signal_test

import (
	"fmt"

	"atenia/flow/internal/signal"
)

// A filter for twice the rate that lets a thousandth through where it must not.
func ExampleKaiserTaps() {
	h := signal.KaiserTaps(60, 2)
	fmt.Printf("%d taps, %.4f in the middle\n", len(h), h[len(h)/2])
	// Output: 45 taps, 0.4999 in the middle
}
