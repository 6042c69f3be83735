package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"atenia/flow"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// memoryPlan has a fan-out with a hold, a loop, a change of rate, modulation
// and a gate of the host.
const memoryPlan = `{"nodes": [
	{"name": "in", "type": "Input", "params": {"channels": 3, "batches": 2}},
	{"name": "slow", "type": "Delay", "params": {"delay": 5}},
	{"name": "mix", "type": "Mix"},
	{"name": "loop", "type": "Gain", "params": {"gain": 0.5}},
	{"name": "up", "type": "Upsample", "params": {"factor": 2}},
	{"name": "vca", "type": "Gain", "params": {"gain": 0.25}},
	{"name": "out", "type": "Probe"}, {"name": "gated", "type": "Probe"}],
"gates": [{"id": 5, "kind": "host"}],
"edges": [
	{"source": "in.out", "target": "slow.in", "delay_frames": 100},
	{"source": "slow.out", "target": "mix.in0"},
	{"source": "loop.out", "target": "mix.in1", "delay_frames": 70},
	{"source": "mix.out", "target": "loop.in"},
	{"source": "mix.out", "target": "up.in"},
	{"source": "up.out", "target": "vca.in"},
	{"source": "up.out", "target": "vca.gain", "scale": 0.5},
	{"source": "vca.out", "target": "out.in"},
	{"source": "in.out", "target": "gated.in", "synchrony_gates": [5]}]}`

// TestMemory runs sessions in an arena: frames are carved from its one region,
// and a frozen arena is an error.
func TestMemory(t *testing.T) {
	t.Run("A32", func(t *testing.T) {
		t.Run("float32", testOneRegion[float32])
		t.Run("float64", testOneRegion[float64])
	})
	t.Run("frozen", testFrozen)
}

// inMemory runs a few blocks of the plan and returns the probe's frames.
func inMemory[F node.Float](t *testing.T, m *flow.Arena) (*flow.Session[F], []F) {
	t.Helper()
	p, err := graph.Parse([]byte(memoryPlan))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[F](p, flow.Options{Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Input("in")
	if err != nil {
		t.Fatal(err)
	}
	var took []F
	for k := range 12 {
		for i := range in.Data {
			in.Data[i] = F(k*i%17) / 16
		}
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
		out, err := s.Probe("out")
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, out.Data[:out.B*out.C*out.N]...)
	}
	return s, took
}

// testOneRegion: channels are disjoint and aligned in one region, and results are
// those of a session on Go's heap.
func testOneRegion[F node.Float](t *testing.T) {
	m, err := flow.NewArena(flow.ArenaOptions{ReserveBytes: 1 << 26, FirstBytes: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, took := inMemory[F](t, m)
	end, names := 0, []string{}
	for _, c := range m.Carves() {
		names = append(names, c.Name)
		if c.Offset%flow.ArenaAlign != 0 || c.Offset < end || c.Bytes == 0 {
			t.Errorf("%s: %d bytes at %d, those before end at %d", c.Name, c.Bytes, c.Offset, end)
		}
		end = c.Offset + c.Bytes
	}
	if end > m.Used() {
		t.Errorf("the last carve ends at %d, %d bytes are used", end, m.Used())
	}
	for _, name := range []string{"in.out", "in.out ring", "mix.out", "mix.out ring", "loop.out ring", "in.out to slow", "vca.gain", "up.out to vca"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in the arena: %q", name, names)
		}
	}
	for l, n := range s.Linked().Nodes {
		for o := range n.OutShape {
			if !slices.Contains(names, fmt.Sprintf("%s.%s", n.Name, n.Spec.Outs[o])) {
				t.Errorf("output %d of node %d is not in the arena", o, l)
			}
		}
	}
	in, _ := s.Input("in")
	out, _ := s.Probe("out")
	for _, x := range []node.Tensor[F]{in, out} {
		if !m.Holds(unsafe.Pointer(&x.Data[0]), len(x.Data)*int(unsafe.Sizeof(x.Data[0]))) {
			t.Error("a tensor that the host sees lies elsewhere")
		}
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if _, heap := inMemory[F](t, nil); !slices.Equal(took, heap) {
		t.Error("the heap gives other results")
	}
}

// testFrozen: in real time a channel that would have to grow is an error.
func testFrozen(t *testing.T) {
	m, err := flow.NewArena(flow.ArenaOptions{ReserveBytes: 1 << 26, FirstBytes: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, _ := inMemory[float32](t, m)
	m.Freeze()
	for range 1 << 12 {
		if err = s.Block(); err != nil {
			break
		}
	}
	if !errors.Is(err, flow.ErrArenaFrozen) {
		t.Errorf("a channel before a closed gate grew: %v", err)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}
