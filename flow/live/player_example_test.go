package live_test

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/live"
)

// A player runs a session while other goroutines feed its inputs and read its
// probes.
func ExamplePlayer() {
	plan, err := graph.Parse([]byte(`{
		"nodes": [
			{"name": "in", "type": "Input"},
			{"name": "half", "type": "Gain", "params": {"gain": 0.5}},
			{"name": "out", "type": "Probe"}
		],
		"edges": [{"source": "in", "target": "half"}, {"source": "half", "target": "out"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := flow.New[float32](plan, flow.Options{BlockFrames: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	cfg := live.LoopConfig{Blocks: 3} // and no Rate: as fast as it goes
	play, err := live.NewLoopPlayer(s, cfg, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	for k := range 2 {
		x := float32(k + 1)
		if ok, err := play.Put("in", []float32{x, x, x, x}); !ok || err != nil {
			fmt.Println(ok, err)
			return
		}
	}
	play.Start()
	fmt.Println(play.Wait().Blocks, "blocks, one each", cfg.Period())
	block := make([]float32, 4)
	for {
		frames, ok, err := play.Get("out", block)
		if !ok {
			fmt.Println(err)
			break
		}
		fmt.Println(block[:frames])
	}
	fmt.Println(play.Dropouts())
	// Output:
	// 3 blocks, one each 0s
	// [0.5 0.5 0.5 0.5]
	// [1 1 1 1]
	// [0 0 0 0]
	// <nil>
	// [{in 1}]
}

// A ring passes blocks from one thread to another; neither waits.
func ExampleRing() {
	r, err := live.NewRing[float32](2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Put([]float32{1, 2}), r.Put([]float32{3, 4}), r.Len())
	x := make([]float32, 2)
	fmt.Println(r.Get(x), x, r.Get(x))
	// Output:
	// true false 1
	// true [1 2] false
}
