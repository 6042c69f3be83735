package decide_test

import (
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

// A product of one row is bound by the bytes of its weights. It suits a device,
// but its weights are on the SSD.
func ExampleChooseRoute() {
	machine := decide.RouteMachine{FlopsPerSecond: 200e9, BytesPerSecond: 20e9}
	k := decide.Product{Rows: 1, Cols: 4096, Inner: 4096, WeightBits: 8.5, ActivationBytes: 4}.Kernel("ffn_up", machine)
	p := decide.ChooseRoute(k, []memory.Tier{memory.RAM, memory.SSD}, memory.Snapshot{}, decide.Executors{GPU: true})
	fmt.Println(k.Kind, p.Target, p.Reason)
	fmt.Println(p.Trace.Evaluated)
	// Output:
	// MemoryBound Cpu Tensor resides on SSD
	// [GpuNotAvailable KernelNotGpuFriendly TensorOnSsd]
}
