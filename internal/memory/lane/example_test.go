package lane_test

import (
	"context"
	"fmt"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/timeline"
)

// Two reads run concurrently; the kernel runs after both.
func ExampleExecutor_Run() {
	x := lane.New(lane.Config{Readers: 2})
	defer x.Close()
	var a, b int
	err := x.Run(context.Background(), func(g *lane.Group) error {
		read := timeline.Task{Queue: timeline.SSDPrefetch, Kind: timeline.IO, Name: "prefetch"}
		first := g.Go(lane.Task{Task: read, Work: lane.Func(func(context.Context) error { a = 40; return nil })})
		second := g.Go(lane.Task{Task: read, Work: lane.Func(func(context.Context) error { b = 2; return nil })})
		sum := lane.Task{Work: lane.Func(func(context.Context) error { fmt.Println(a + b); return nil })}
		g.Go(sum, first, second)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 42
	// <nil>
}

// Layers are read into two buffers while the one before is computed.
func ExamplePipeline() {
	x := lane.New(lane.Config{})
	defer x.Close()
	file := []string{"embed", "attention", "feed-forward", "head"}
	var buffers [2]string
	p := lane.NewPipeline(x, lane.PipelineConfig{
		Items:   []lane.Item{{Name: "0"}, {Name: "1"}, {Name: "2"}, {Name: "3"}},
		Buffers: len(buffers),
		Stages: lane.Stages{
			Prefetch: func(_ context.Context, item, buffer int) error { buffers[buffer] = file[item]; return nil },
			Compute:  func(_ context.Context, _, buffer int) error { fmt.Println(buffers[buffer]); return nil },
		},
	})
	fmt.Println(p.Run(context.Background(), []int{0, 1, 2, 3}))
	// Output:
	// embed
	// attention
	// feed-forward
	// head
	// <nil>
}
