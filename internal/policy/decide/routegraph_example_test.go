package decide_test

import (
	"context"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"

	"atenia/internal/memory/lane"
)

// Two kernels, two moments: when VRAM is nearly full, the one that suits the
// device falls back.
func ExampleRouteGraph_Place() {
	var g decide.RouteGraph
	g.Add(decide.Kernel{Name: "matmul", Kind: decide.ComputeHeavy}, []memory.Tier{memory.VRAM})
	g.Add(decide.Kernel{Name: "argmax", Kind: decide.Serial}, []memory.Tier{memory.VRAM})
	for _, vram := range []float32{.5, .95} {
		p := g.Place(memory.Snapshot{VRAM: memory.Status{Pressure: &vram}}, decide.Executors{GPU: true})
		fmt.Println(p.Summary)
		for _, n := range p.Placements {
			fmt.Println(n.Node, n.Target, n.Reason)
		}
	}
	// Output:
	// Snapshot pressures: vram=0.5000, ram=0.0000
	// 0 Gpu GPU execution preferred
	// 1 Cpu Kernel not suitable for GPU execution
	// Snapshot pressures: vram=0.9500, ram=0.0000
	// 0 CpuFallback VRAM pressure too high
	// 1 Cpu Kernel not suitable for GPU execution
}

// A tensor leaves RAM in the tick in which RAM runs full.
func ExampleLoop() {
	m := memory.New(memory.Config{})
	m.Register("w", 1<<20, memory.VRAM) // known by its length alone
	var g decide.RouteGraph
	g.AddTensors(decide.Kernel{Name: "matmul"}, []string{"w"}, []memory.Tier{memory.VRAM})
	var lines lane.Lines
	full := float32(.99)
	l := decide.RouteLoop{
		Graph: &g, Timeline: lane.NewTimeline(lane.TakeTurns, &lines), Memory: m,
		Offload: memory.NewOffload(memory.DefaultOffload()), On: decide.Executors{GPU: true},
	}
	l.Tick(context.Background(), 0, memory.Snapshot{VRAM: memory.Status{Pressure: &full}}, []string{"w"})
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// TICK_START tick=0
	// ENQUEUE stream=Cpu id=1 kind=Transfer name=move:vram->ram:w cost=1
	// ENQUEUE stream=Cpu id=2 kind=Compute name=matmul cost=1
	// RUN stream=Cpu id=1 kind=Transfer name=move:vram->ram:w cost=1
	// RUN stream=Cpu id=2 kind=Compute name=matmul cost=1
	// OFFLOAD_PLAN tick=0 actions=0 reason=VRAM pressure high but no offloadable tensors in VRAM
	// OFFLOAD_APPLY tick=0 skipped
	// TICK_END tick=0
}
