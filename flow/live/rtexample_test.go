package live_test

import (
	"fmt"

	"atenia/flow/graph"
	"atenia/flow/live"
)

// A loop without a clock runs its blocks one after the other; with Frames and
// Rate each waits until it is due.
func ExampleLoop() {
	phase := 0.0
	loop, err := live.NewLoop(live.LoopConfig{Blocks: 100}, func() graph.Code {
		phase += 0.25
		return graph.Success
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := loop.Run()
	fmt.Println(r.Blocks, r.Late, phase)
	// Output: 100 0 25
}
