package hw_test

import (
	"context"
	"fmt"

	"atenia/internal/machine/hw"
)

// A probe fills a snapshot with what is known of the machine.
func ExampleProbe() {
	s, details, err := hw.Probe(context.Background(), hw.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*s.CPU.LogicalCores > 0, details.Processor.Threads > 0, len(s.GPUs))
	// Output: true true 0
}
