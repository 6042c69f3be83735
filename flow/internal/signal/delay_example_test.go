package signal_test

import (
	"fmt"

	"atenia/flow/internal/signal"
)

// An entry of the table describes a type and its parameters.
func ExampleDelayTypes() {
	t, _ := signal.DelayTypes().Lookup("Delay")
	fmt.Println(t.Doc)
	for _, d := range t.Framed {
		fmt.Println(d.Name, d.Value)
	}
	// Output:
	// y[n] = x[n - delay]; a modulated delay is clamped to 0..max_delay frames (0: one second)
	// delay 0
}
