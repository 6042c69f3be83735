package lane_test

import (
	"context"
	"fmt"

	"atenia/internal/memory/lane"
)

// Two reads run concurrently; the kernel runs after both.
func ExampleExecutor_Run() {
	x := lane.New(lane.Config{Readers: 2})
	defer x.Close()
	var a, b int
	err := x.Run(context.Background(), func(g *lane.Group) error {
		read := lane.QueuedTask{Queue: lane.SSDPrefetch, Kind: lane.IOTask, Name: "prefetch"}
		first := g.Go(lane.Task{QueuedTask: read, Work: lane.Func(func(context.Context) error { a = 40; return nil })})
		second := g.Go(lane.Task{QueuedTask: read, Work: lane.Func(func(context.Context) error { b = 2; return nil })})
		sum := lane.Task{Work: lane.Func(func(context.Context) error { fmt.Println(a + b); return nil })}
		g.Go(sum, first, second)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 42
	// <nil>
}
