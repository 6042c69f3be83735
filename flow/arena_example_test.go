package flow_test

import (
	"fmt"

	"atenia/flow"
)

func Example_arena() {
	a, err := flow.NewArena(flow.ArenaOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	left, _ := a.Carve("left", 400)
	right, _ := a.Carve("right", 400)
	left[0], right[0] = 1, 2
	for _, c := range a.Carves() {
		fmt.Println(c.Name, c.Offset, c.Bytes)
	}
	fmt.Println(a.Committed()>>20, "MiB, overrun:", a.Check())
	a.Freeze()
	_, err = a.Carve("too late", 2<<20)
	fmt.Println(err)
	// Output:
	// left 0 400
	// right 512 400
	// 1 MiB, overrun: <nil>
	// carve "too late" of 2097152 bytes, with 1048576 committed: the arena is frozen: carve before Freeze
}
