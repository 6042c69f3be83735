package backward_test

import (
	"context"
	"fmt"

	"atenia/tier"
	"atenia/tier/backward"
	"atenia/tier/stream"
	"atenia/tier/timeline"
)

// The gradient is declared to be in VRAM, but there is no device: the backward
// pass falls back to the processor.
func ExampleExecute() {
	m := tier.New(tier.Config{})
	m.RegisterData("grad.w", make([]byte, 64), tier.RAM)
	var lines timeline.Lines
	timeline := timeline.NewTimeline(timeline.TakeTurns, &lines)
	nodes := []backward.Node{{
		ID: 1, Forward: stream.OnGPU, Reason: "as the forward pass",
		Outputs: []backward.Gradient{{ID: "grad.w", Tier: tier.VRAM}},
	}}
	fmt.Println(backward.Execute(context.Background(), timeline, m, nodes, true))
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// <nil>
	// BACKWARD_FALLBACK node=1 from=Gpu to=Cpu
	// ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1
	// BACKWARD node=1 target=Cpu reason=as the forward pass
}
