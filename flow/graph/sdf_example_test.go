package graph_test

import (
	"fmt"

	"atenia/flow/graph"
)

// Example_sdf gives a fork and its join the room that they need.
func Example_sdf() {
	fork := []graph.Channel{{Target: 1, Produce: 1, Consume: 2}, {Source: 1, Target: 2, Produce: 2, Consume: 1}, {Target: 2, Produce: 1, Consume: 1}}
	q, err := graph.Balance(3, fork)
	fmt.Println("firings", q, err)
	r, err := graph.Iterate(3, fork, []int{2, 2, 1})
	fmt.Println("blocked", r.Blocked, "waiting in turn", r.Cycle, err)
	capacity, err := graph.Capacities(3, fork)
	fmt.Println("capacities", capacity, err)
	// Output:
	// firings [2 1 2] <nil>
	// blocked [0 1 2] waiting in turn [0 2 1] <nil>
	// capacities [2 2 2] <nil>
}
