package lane_test

import (
	"fmt"

	"atenia/internal/memory/lane"
)

// A timeline without concurrent streams runs the device's work on the CPU, and
// marks it.
func ExampleTimeline() {
	var lines lane.Lines
	t := lane.NewTimeline(lane.FallBack, &lines)
	t.Submit(lane.QueuedTask{Queue: lane.GPU, Kind: lane.ComputeTask, Name: "matmul", Cost: 1})
	t.Run()
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// ENQUEUE stream=Gpu id=1 kind=Compute name=matmul cost=1
	// FALLBACK stream=Gpu id=1 -> Cpu
	// RUN stream=Cpu id=1 kind=Compute name=matmul cost=1
}
