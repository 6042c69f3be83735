package signal_test

import (
	"fmt"

	"atenia/flow/internal/signal"
)

// An entry of the table describes a type and its parameters.
func ExampleWaveTypes() {
	t, _ := signal.WaveTypes().Lookup("Oscillator")
	fmt.Println(t.Doc)
	for _, d := range t.Framed {
		fmt.Println(d.Name, d.Value)
	}
	// Output:
	// band-limited periodic wave; with oversample_ratio r computed at r times the rate and decimated
	// frequency_hz 440
	// amplitude 1
	// phase 0
}
