package route_test

import (
	"context"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/policy/route"

	"atenia/internal/memory/lane"
)

// The gradient is declared to be in VRAM, but there is no device: the backward
// pass falls back to the processor.
func ExampleExecuteBackward() {
	m := memory.New(memory.Config{})
	m.RegisterData("grad.w", make([]byte, 64), memory.RAM)
	var lines lane.Lines
	timeline := lane.NewTimeline(lane.TakeTurns, &lines)
	nodes := []route.BackwardNode{{
		ID: 1, Forward: route.OnGPU, Reason: "as the forward pass",
		Outputs: []route.Gradient{{ID: "grad.w", Tier: memory.VRAM}},
	}}
	fmt.Println(route.ExecuteBackward(context.Background(), timeline, m, nodes, true))
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// <nil>
	// BACKWARD_FALLBACK node=1 from=Gpu to=Cpu
	// ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1
	// BACKWARD node=1 target=Cpu reason=as the forward pass
}
