package decide

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/faultfs"

	"atenia/internal/memory/lane"
)

var heavy = Kernel{Name: "heavy", Kind: computeHeavy}

// at returns a snapshot of pressures.
func at(vram, ram float32) memory.Snapshot {
	return memory.Snapshot{VRAM: memory.Status{Pressure: &vram}, RAM: memory.Status{Pressure: &ram}}
}

// A tensor is n bytes in a tier at the start of a test.
type tensor struct {
	id string
	at memory.Tier
	n  int
}

func testMemory(t *testing.T, device memory.Adapter, tensors ...tensor) *memory.Manager {
	t.Helper()
	m := memory.New(memory.Config{Dir: t.TempDir(), Adapter: device, FS: faultfs.NoSync()})
	for _, x := range tensors {
		if _, _, err := m.Place(context.Background(), x.id, content(x.id, x.n), x.at); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// content returns bytes that identify their tensor.
func content(id string, n int) []byte {
	b := []byte(strings.Repeat(id+" ", n))
	return b[:n]
}

// checkTensors checks that each tensor is in its tier with its bytes.
func checkTensors(t *testing.T, m *memory.Manager, want ...tensor) {
	t.Helper()
	for _, w := range want {
		if got, _ := m.Tier(w.id); got != w.at {
			t.Errorf("%s is in %v, want %v", w.id, got, w.at)
		}
		if data, err := m.Bytes(w.id); err != nil || string(data) != string(content(w.id, w.n)) {
			t.Errorf("%s holds %q, %v", w.id, data, err)
		}
	}
}

// TestGraph is a table of plans and of the tasks enqueued for them.
func TestGraph(t *testing.T) {
	t.Run("GR-1", func(t *testing.T) {
		var g RouteGraph
		g.Add(heavy, []memory.Tier{memory.RAM})
		g.Add(Kernel{Name: "small", Kind: small}, []memory.Tier{memory.RAM})
		before := slices.Clone(g.Nodes())
		for _, c := range []struct {
			vram float32
			want []Target
		}{
			{.1, []Target{OnGPU, OnCPU}},
			{.95, []Target{OnCPUFallback, OnCPU}},
		} {
			var got []Target
			for _, p := range g.Place(at(c.vram, 0), Executors{GPU: true}).Placements {
				got = append(got, p.Target)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("pressure %v: %v, want %v", c.vram, got, c.want)
			}
		}
		if !reflect.DeepEqual(g.Nodes(), before) {
			t.Errorf("planning changed the graph to %+v", g.Nodes())
		}
	})
	t.Run("GR-2", func(t *testing.T) {
		var g RouteGraph
		if got, want := g.Place(at(.42, .84), Executors{GPU: true}).Summary, "Snapshot pressures: vram=0.4200, ram=0.8400"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("GR-3", func(t *testing.T) {
		var g RouteGraph
		g.AddTensors(Kernel{Name: "node1"}, []string{"t1"}, []memory.Tier{memory.SSD})
		g.AddTensors(Kernel{Name: "node2"}, []string{"t2"}, []memory.Tier{memory.RAM})
		m := testMemory(t, nil, tensor{"t1", memory.SSD, 4}, tensor{"t2", memory.RAM, 4})
		var lines lane.Lines
		b, err := g.Enqueue(t.Context(), lane.NewTimeline(lane.TakeTurns, &lines), m, memory.Snapshot{}, Executors{GPU: false})
		if err != nil || len(b) != 2 || !slices.Equal(b[0].Tasks, []uint64{1, 2, 3}) || !slices.Equal(b[1].Tasks, []uint64{4}) {
			t.Errorf("bundles %+v, %v", b, err)
		}
		want := []string{"name=prefetch:t1", "name=move:ssd->ram:t1", "name=node1", "name=node2"}
		for i, l := range lines {
			if !strings.HasPrefix(l, "ENQUEUE ") || !strings.Contains(l, want[i]) {
				t.Errorf("line %d: %s, want %s", i, l, want[i])
			}
		}
		checkTensors(t, m, tensor{"t1", memory.RAM, 4}, tensor{"t2", memory.RAM, 4})
		if got := g.PlaceLive(m, memory.Snapshot{}, Executors{GPU: true}).Placements[0].Target; got != OnGPU {
			t.Errorf("live plan %v", got)
		}
		if got := g.Place(memory.Snapshot{}, Executors{GPU: true}).Placements[0].Target; got != OnCPU {
			t.Errorf("static plan %v", got)
		}
	})
	t.Run("GR-4", func(t *testing.T) {
		var g RouteGraph
		g.Add(heavy, []memory.Tier{memory.RAM, memory.RAM})
		g.AddTensors(heavy, []string{"a", "b", "c"}, []memory.Tier{memory.RAM})
		n := g.Nodes()
		if !slices.Equal(n[0].Tensors, []string{"t0_0", "t0_1"}) || !slices.Equal(n[1].Tensors, []string{"a"}) || len(n[1].Tiers) != 1 {
			t.Errorf("nodes %+v", n)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		var g RouteGraph
		g.AddTensors(heavy, []string{"t1"}, []memory.Tier{memory.SSD})
		m := testMemory(t, nil, tensor{"t1", memory.SSD, 4})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var lines lane.Lines
		b, err := g.Enqueue(ctx, lane.NewTimeline(lane.TakeTurns, &lines), m, memory.Snapshot{}, Executors{GPU: false})
		if !errors.Is(err, context.Canceled) || len(b) != 0 {
			t.Errorf("bundles %+v, %v", b, err)
		}
	})
}
