package flow_test

import (
	"fmt"
	"strings"
	"time"

	"atenia/flow"

	"atenia/flow/graph"
)

// half is a session that halves a signal of four frames a block.
func half(opt flow.Options) (*flow.Session[float64], error) {
	plan, err := graph.Parse([]byte(`{
		"nodes": [
			{"name": "in", "type": "Input"},
			{"name": "half", "type": "Gain", "params": {"gain": 0.5}},
			{"name": "out", "type": "Probe"}
		],
		"edges": [{"source": "in", "target": "half"}, {"source": "half", "target": "out"}]}`))
	if err != nil {
		return nil, err
	}
	return flow.New[float64](plan, opt)
}

// A session lists the control tokens it accepted, and another session that plays
// them gives the same result.
func ExampleSession_Play() {
	s, err := half(flow.Options{BlockFrames: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for k := range 3 {
		if k == 1 {
			if err := s.Set("half", "gain", []float64{0.25}); err != nil {
				fmt.Println(err)
				return
			}
		}
		if err := s.Block(); err != nil {
			fmt.Println(err)
			return
		}
	}
	var text strings.Builder
	for _, token := range s.Control() {
		fmt.Fprintln(&text, token)
	}
	fmt.Print(text.String())

	tokens, err := flow.ParseControl(strings.NewReader(text.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := half(flow.Options{BlockFrames: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Close()
	if err := again.Play(tokens); err != nil {
		fmt.Println(err)
		return
	}
	in, _ := again.Input("in")
	for i := range in.Data {
		in.Data[i] = 8
	}
	for range 2 {
		if err := again.Block(); err != nil {
			fmt.Println(err)
			return
		}
		out, _ := again.Probe("out")
		fmt.Println(out.Row(0))
	}
	// Output:
	// 1 set half.gain 0.25
	// [4 4 4 4]
	// [2 2 2 2]
}

// A node whose calls exceed the limit is suspended until it is resumed.
func ExampleSession_Resume() {
	s, err := half(flow.Options{BlockFrames: 1024, Limit: time.Nanosecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	suspended := func() (names []string) {
		for _, n := range s.Metrics().Nodes {
			if n.Suspended && n.Name == "half" {
				names = append(names, n.Name)
			}
		}
		return names
	}
	for range 3 {
		if err := s.Block(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(suspended())
	fmt.Println(s.Resume("half"), suspended())
	// Output:
	// [half]
	// <nil> []
}

// Memory and time of a session: the bytes of each node, the fused nodes, and the
// node with the longest calls.
func ExampleSession_Memory() {
	s, err := half(flow.Options{BlockFrames: 4, Timing: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, m := range s.Memory() {
		fmt.Println(m.Node, m.Workspace, m.Channels)
	}
	for _, g := range s.Groups() {
		fmt.Println(g.Type, g.Nodes, g.Fused)
	}
	if err := s.Block(); err != nil {
		fmt.Println(err)
		return
	}
	var longest flow.NodeMetrics
	for i, n := range s.Metrics().Nodes {
		if i == 0 || n.Nanos[flow.Forward] > longest.Nanos[flow.Forward] {
			longest = n
		}
	}
	fmt.Println(longest.Calls[flow.Forward], "call")
	// Output:
	// in 32 64
	// half 32 64
	// out 32 0
	// Input [0] false
	// Gain [1] false
	// Probe [2] false
	// 1 call
}
