package decide

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/faultfs"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/memorytest"
)

type tiers = map[string]memory.Tier

func manager(t *testing.T, device memory.Adapter, cache *blob.Cache, at tiers) *memory.Manager {
	t.Helper()
	m := memory.New(memory.Config{Dir: t.TempDir(), FS: faultfs.NoSync(), Adapter: device, Cache: cache})
	for id, to := range at {
		if _, _, err := m.Place(context.Background(), id, []byte("grad"), to); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func declared(at memory.Tier, ids ...string) (out []Gradient) {
	for _, id := range ids {
		out = append(out, Gradient{id, at})
	}
	return out
}

func wantTiers(t *testing.T, m *memory.Manager, want tiers) {
	t.Helper()
	for id, w := range want {
		if at, ok := m.Tier(id); !ok || at != w {
			t.Errorf("%s is in %v (%v), want %v", id, at, ok, w)
		}
	}
}

func backwardWantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestExecute is the table of backward passes without a trace.
func TestExecute(t *testing.T) {
	for _, c := range []struct {
		name   string
		device memory.Adapter
		at     tiers
		nodes  []BackwardNode
		gpu    bool
		lines  []string
		after  tiers
	}{
		{
			"AG-1", &memorytest.FakeVRAM{}, tiers{"g1": memory.VRAM, "g2": memory.VRAM},
			[]BackwardNode{{1, OnGPU, "r", declared(memory.VRAM, "g1"), declared(memory.VRAM, "g2")}}, true,
			[]string{"ENQUEUE stream=Gpu id=1 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Gpu reason=r"},
			tiers{"g1": memory.VRAM, "g2": memory.VRAM},
		},
		{
			"AG-2", &memorytest.FakeVRAM{}, tiers{"g1": memory.RAM, "g2": memory.VRAM},
			[]BackwardNode{{1, OnGPU, "r", declared(memory.RAM, "g1"), declared(memory.VRAM, "g2")}}, true,
			[]string{"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Cpu reason=r"},
			tiers{"g1": memory.RAM, "g2": memory.RAM},
		},
		{ // a plan that leads to RAM is no success for a device
			"no_device", nil, tiers{"g1": memory.RAM},
			[]BackwardNode{{3, OnGPU, "", declared(memory.VRAM, "g1", "ghost"), nil}}, true,
			[]string{
				"BACKWARD_FALLBACK node=3 from=Gpu to=Cpu",
				"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node3 cost=1", "BACKWARD node=3 target=Cpu reason=",
			},
			tiers{"g1": memory.RAM},
		},
		{ // one that the processor does not get stays; the others come
			"reverse_order", &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{memorytest.Download: {"g1"}})},
			tiers{"g1": memory.VRAM, "g2": memory.VRAM},
			[]BackwardNode{{1, OnCPU, "first", declared(memory.VRAM, "g1", "g2"), nil}, {2, OnCPUFallback, "last", nil, nil}}, true,
			[]string{
				"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node2 cost=1", "BACKWARD node=2 target=Cpu reason=last",
				"ENQUEUE stream=Cpu id=2 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Cpu reason=first",
			},
			tiers{"g1": memory.VRAM, "g2": memory.RAM},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manager(t, c.device, nil, c.at)
			var lines lane.Lines
			if err := ExecuteBackward(t.Context(), lane.NewTimeline(lane.TakeTurns, &lines), m, c.nodes, c.gpu); err != nil {
				t.Error(err)
			}
			backwardWantLines(t, lines, c.lines...)
			wantTiers(t, m, c.after)
		})
	}
	t.Run("AG-3", func(t *testing.T) {
		m := manager(t, nil, nil, nil)
		m.Register("g1", 4, memory.SSD)
		m.Register("g2", 4, memory.SSD)
		var lines lane.Lines
		nodes := []BackwardNode{{1, OnCPU, "r", declared(memory.SSD, "g1"), declared(memory.SSD, "g2")}}
		if err := ExecuteBackward(t.Context(), lane.NewTimeline(lane.TakeTurns, &lines), m, nodes, false); err != nil {
			t.Error(err)
		}
		backwardWantLines(t, lines[:1], "ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1")
		wantTiers(t, m, tiers{"g1": memory.RAM, "g2": memory.RAM})
	})
}

// TestTrace is the table of backward passes with one.
func TestTrace(t *testing.T) {
	in := func(k BackwardRecordKind, id string, from, to memory.Tier) BackwardRecord {
		return BackwardRecord{Kind: k, ID: id, From: from, To: to}
	}
	skipped := func(id, why string) BackwardRecord { return BackwardRecord{Kind: Skipped, ID: id, Reason: why} }
	const there = "already in target tier"
	for _, c := range []struct {
		name   string
		device memory.Adapter
		at     tiers
		node   BackwardNode
		want   BackwardTrace
		line   string
	}{
		{
			"AG-4", &memorytest.FakeVRAM{}, tiers{"g1": memory.RAM, "g2": memory.RAM},
			BackwardNode{1, OnGPU, "r", declared(memory.VRAM, "g1"), declared(memory.VRAM, "g2")},
			BackwardTrace{1, OnGPU, OnGPU, OnGPU, "r", []BackwardRecord{
				in(routePlanned, "g1", memory.RAM, memory.VRAM), in(Applied, "g1", memory.RAM, memory.VRAM),
				in(routePlanned, "g2", memory.RAM, memory.VRAM), in(Applied, "g2", memory.RAM, memory.VRAM),
			}},
			"AUTOGRAD node=1 target=Gpu moves=4 fallback=0",
		},
		{
			"AG-5", &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{memorytest.Upload: {"*"}})},
			tiers{"g1": memory.RAM, "g2": memory.RAM},
			BackwardNode{1, OnGPU, "", declared(memory.VRAM, "g1", "g2"), nil},
			BackwardTrace{1, OnGPU, OnGPU, OnCPU, "GPU fallback due to move failure", []BackwardRecord{
				in(routePlanned, "g1", memory.RAM, memory.VRAM), {Kind: Failed, ID: "g1"},
				in(routePlanned, "g2", memory.RAM, memory.VRAM), {Kind: Failed, ID: "g2"},
				skipped("g1", there), skipped("g2", there),
			}},
			"AUTOGRAD node=1 target=Cpu moves=6 fallback=1",
		},
		{
			"AG-6", nil, tiers{"g1": memory.RAM},
			BackwardNode{4, OnCPU, "r", declared(memory.VRAM, "g1"), declared(memory.VRAM, "g1")},
			BackwardTrace{4, OnCPU, OnCPU, OnCPU, "r", []BackwardRecord{skipped("g1", there), skipped("g1", there)}},
			"AUTOGRAD node=4 target=Cpu moves=2 fallback=0",
		},
		{
			"no_device", nil, tiers{"g1": memory.RAM},
			BackwardNode{5, OnGPU, "r", declared(memory.VRAM, "g1", "ghost"), nil},
			BackwardTrace{5, OnGPU, OnGPU, OnCPU, "r; GPU fallback due to move failure", []BackwardRecord{
				in(routePlanned, "g1", memory.RAM, memory.VRAM), {Kind: Failed, ID: "g1"},
				skipped("ghost", "tensor not registered in memory manager"),
				skipped("g1", there), skipped("ghost", "tensor not registered in memory manager"),
			}},
			"AUTOGRAD node=5 target=Cpu moves=5 fallback=1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manager(t, c.device, nil, c.at)
			var lines lane.Lines
			got, err := (&Recorder{}).ExecuteBackward(t.Context(), lane.NewTimeline(lane.TakeTurns, &lines), m, []BackwardNode{c.node}, true)
			if err != nil || len(got) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, r := range got[0].Moves {
				if r.Kind == Failed {
					if !strings.Contains(r.Reason, "error") {
						t.Errorf("a failure says %q", r.Reason)
					}
					got[0].Moves[i].Reason = ""
				}
			}
			if !reflect.DeepEqual(got[0], c.want) {
				t.Errorf("got  %+v\nwant %+v", got[0], c.want)
			}
			backwardWantLines(t, lines[1:], c.line)
		})
	}
}

// TestCancelled checks that a cancelled pass submits no further tasks.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := manager(t, &memorytest.FakeVRAM{}, nil, tiers{"g": memory.RAM})
	nodes := []BackwardNode{{1, OnGPU, "", declared(memory.VRAM, "g"), nil}}
	var lines lane.Lines
	timeline := lane.NewTimeline(lane.TakeTurns, &lines)
	if err := ExecuteBackward(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := (&Recorder{}).ExecuteBackward(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nodes[0].Forward = OnCPU
	if err := ExecuteBackward(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	backwardWantLines(t, lines)
}

func TestRecordKind(t *testing.T) {
	for k := range Failed + 1 {
		var back BackwardRecordKind
		if b, _ := k.MarshalText(); back.UnmarshalText(b) != nil || back != k {
			t.Errorf("%v is read as %v", k, back)
		}
	}
	var k BackwardRecordKind
	if err := k.UnmarshalText([]byte("Lost")); err == nil || BackwardRecordKind(9).String() != "RecordKind(9)" {
		t.Error(err)
	}
}
