package signal_test

import (
	"fmt"

	"atenia/flow/internal/signal"
)

// An entry of the table describes a type and its parameters.
func ExampleBasicTypes() {
	t, _ := signal.BasicTypes().Lookup("Pan")
	fmt.Println(t.Doc)
	for _, d := range t.Framed {
		fmt.Println(d.Name, d.Value)
	}
	// Output:
	// one channel to two with equal power: cos and sin of (pan+1) pi/4
	// pan 0
}
