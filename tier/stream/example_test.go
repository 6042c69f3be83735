package stream_test

import (
	"fmt"

	"atenia/tier"
	"atenia/tier/stream"
)

// A product of one row is bound by the bytes of its weights. It suits a device,
// but its weights are on the SSD.
func ExampleMakePlan() {
	machine := stream.Machine{FlopsPerSecond: 200e9, BytesPerSecond: 20e9}
	k := stream.Product{Rows: 1, Cols: 4096, Inner: 4096, WeightBits: 8.5, ActivationBytes: 4}.Kernel("ffn_up", machine)
	p := stream.MakePlan(k, []tier.Tier{tier.RAM, tier.SSD}, tier.Snapshot{}, true)
	fmt.Println(k.Kind, p.Target, p.Reason)
	fmt.Println(p.Trace.Evaluated)
	// Output:
	// MemoryBound Cpu Tensor resides on SSD
	// [GpuNotAvailable KernelNotGpuFriendly TensorOnSsd]
}

// A timeline without concurrent streams runs the device's work on the
// processor, and says so.
func ExampleTimeline() {
	var lines stream.Lines
	t := stream.NewTimeline(stream.FallBack, &lines)
	t.Submit(stream.Task{Queue: stream.GPU, Kind: stream.Compute, Name: "matmul", Cost: 1})
	t.Run()
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// ENQUEUE stream=Gpu id=1 kind=Compute name=matmul cost=1
	// FALLBACK stream=Gpu id=1 -> Cpu
	// RUN stream=Cpu id=1 kind=Compute name=matmul cost=1
}
