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
