package signal_test

import (
	"fmt"

	"atenia/flow/internal/signal"
)

// A notch at a quarter of the rate has its zeros at ±i.
func ExampleDesignBiquad() {
	c, ok := signal.DesignBiquad("notch", 12000, 1, 0, 48000)
	fmt.Printf("%.3f %v\n", c, ok)
	// Output: [0.667 0.000 0.667 0.000 0.333] true
}
