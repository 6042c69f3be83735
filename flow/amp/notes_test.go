//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// TestEventsInC: a node in C that asks for events gets those of each call with their offsets, in this process and in
// another, for every block size and from snapshots.
func TestEventsInC(t *testing.T) {
	_, isolated := start(t, nodes(t), amp.ProcessConfig{})
	plan, err := graph.Parse([]byte(`{"nodes": [{"name": "in", "type": "Input"}, {"name": "l", "type": "Ledger.c", "supports_v2": true}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "l"}, {"source": "l", "target": "out"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const frames = 960
	r := rand.New(rand.NewPCG(2, 1))
	var cues []flow.Cue
	for range 200 {
		cues = append(cues, flow.Cue{Frame: r.Int64N(frames), Event: node.Event{Kind: node.EventKind(1 + r.IntN(7)), Channel: uint8(r.IntN(16)), Key: uint8(r.IntN(128)), Value: r.Float32(), Tune: r.Float32()}})
	}
	sorted := slices.Clone(cues)
	slices.SortStableFunc(sorted, func(a, b flow.Cue) int { return int(a.Frame - b.Frame) })
	x := node.Tensor[float64]{Data: make([]float64, frames), B: 1, C: 1, N: frames}
	var want []float64
	held := 0.0
	for i := range frames {
		x.Data[i] = r.Float64()
		for ; len(sorted) > 0 && sorted[0].Frame == int64(i); sorted = sorted[1:] {
			e := sorted[0].Event
			held = 0.75*held + float64(e.Kind) + float64(e.Key)/128 + float64(e.Channel) + float64(e.Value) + float64(e.Tune)
		}
		want = append(want, held+x.Data[i])
	}
	for name, types := range map[string]node.Table{"here": open(t, amp.Options{}).Types(), "isolated": isolated} {
		for _, block := range []int{1, 20, 64, 96, 960} {
			s, err := flow.New[float64](plan, flow.Options{BlockFrames: block, Catalog: append(types, flow.ShippedTypes()...)})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s.Listeners()); got != "[l]" {
				t.Errorf("%s: nodes %s take events", name, got)
			}
			if err := s.Post(cues...); err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(map[string]node.Tensor[float64]{"in": x}, frames/block)
			if err != nil {
				t.Fatal(err)
			}
			if got := out["out"].Data; !slices.Equal(got, want) {
				t.Errorf("%s, blocks of %d: %d frames, or other values", name, block, len(got))
			}
			s.Close()
		}
	}
}

// TestTooManyEvents: an isolated node that gets more events in one call than the memory holds fails, and goes on.
func TestTooManyEvents(t *testing.T) {
	_, types := start(t, nodes(t), amp.ProcessConfig{})
	g := isolateRig[float64](t, types, flowtest.Node("Ledger.c"))
	c := block[float64](g, 1, 2)
	c.Events = &node.Events{}
	c.Events.Reserve(5000)
	c.Events.Clear()
	for range 5000 {
		c.Events.Add(node.Event{Kind: node.NoteOn})
	}
	if code := g.Inst.Forward(c); code != graph.NoMemory {
		t.Errorf("the call gave %v", code)
	}
	c.Events.Clear()
	if code := g.Inst.Forward(c); code != graph.Success || c.Out[0].Data[1] != 2 {
		t.Errorf("the next call gave %v, %v", code, c.Out[0].Data)
	}
}

// TestNoEventsInC: a library that does not ask for events sees the descriptor of version 2.0, and no host before this
// version gives them to one that does.
func TestNoEventsInC(t *testing.T) {
	l := open(t, amp.Options{})
	g := rig[float64](t, l, flowtest.Node("Blind.c"), mono...)
	if _, code := run(g, []node.Tensor[float64]{ramp[float64](mono[0], 4)}, 0, 4); code != graph.Success {
		t.Fatal(code)
	}
	if seen := peek(t, l).seen(); seen[0] != 0 || seen[1] != 0 || seen[2] != 136 {
		t.Errorf("events %#x, extensions %#x, a descriptor of %d bytes", seen[0], seen[1], seen[2])
	}
	if x, ok := g.Inst.(node.Listener); !ok || x.Listen() {
		t.Error("a node without the capability takes events")
	}
	g = rig[float64](t, l, flowtest.Node("Ledger.c"), mono...) // played by a host that has none
	if c, code := run(g, []node.Tensor[float64]{ramp[float64](mono[0], 4)}, 0, 4); code != graph.Success || c.Out[0].Data[3] != 4 {
		t.Errorf("%v, %v", code, c.Out[0].Data)
	}
}
