package backward

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/durable/faultfs"
	"atenia/tier"
	"atenia/tier/blob"
	"atenia/tier/stream"
	"atenia/tier/tiertest"
	"atenia/tier/timeline"
)

type tiers = map[string]tier.Tier

func manager(t *testing.T, device tier.Adapter, cache *blob.Cache, at tiers) *tier.Manager {
	t.Helper()
	m := tier.New(tier.Config{Dir: t.TempDir(), FS: faultfs.NoSync(), Adapter: device, Cache: cache})
	for id, to := range at {
		if _, _, err := m.Place(context.Background(), id, []byte("grad"), to); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func declared(at tier.Tier, ids ...string) (out []Gradient) {
	for _, id := range ids {
		out = append(out, Gradient{id, at})
	}
	return out
}

func wantTiers(t *testing.T, m *tier.Manager, want tiers) {
	t.Helper()
	for id, w := range want {
		if at, ok := m.Tier(id); !ok || at != w {
			t.Errorf("%s is in %v (%v), want %v", id, at, ok, w)
		}
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestExecute is the table of backward passes without a trace.
func TestExecute(t *testing.T) {
	for _, c := range []struct {
		name   string
		device tier.Adapter
		at     tiers
		nodes  []Node
		gpu    bool
		lines  []string
		after  tiers
	}{
		{
			"AG-1", &tiertest.FakeVRAM{}, tiers{"g1": tier.VRAM, "g2": tier.VRAM},
			[]Node{{1, stream.OnGPU, "r", declared(tier.VRAM, "g1"), declared(tier.VRAM, "g2")}}, true,
			[]string{"ENQUEUE stream=Gpu id=1 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Gpu reason=r"},
			tiers{"g1": tier.VRAM, "g2": tier.VRAM},
		},
		{
			"AG-2", &tiertest.FakeVRAM{}, tiers{"g1": tier.RAM, "g2": tier.VRAM},
			[]Node{{1, stream.OnGPU, "r", declared(tier.RAM, "g1"), declared(tier.VRAM, "g2")}}, true,
			[]string{"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Cpu reason=r"},
			tiers{"g1": tier.RAM, "g2": tier.RAM},
		},
		{ // a plan that leads to RAM is no success for a device
			"no_device", nil, tiers{"g1": tier.RAM},
			[]Node{{3, stream.OnGPU, "", declared(tier.VRAM, "g1", "ghost"), nil}}, true,
			[]string{
				"BACKWARD_FALLBACK node=3 from=Gpu to=Cpu",
				"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node3 cost=1", "BACKWARD node=3 target=Cpu reason=",
			},
			tiers{"g1": tier.RAM},
		},
		{ // one that the processor does not get stays; the others come
			"reverse_order", &tiertest.FakeVRAM{Fail: tiertest.Refuse(map[tiertest.Call][]string{tiertest.Download: {"g1"}})},
			tiers{"g1": tier.VRAM, "g2": tier.VRAM},
			[]Node{{1, stream.OnCPU, "first", declared(tier.VRAM, "g1", "g2"), nil}, {2, stream.OnCPUFallback, "last", nil, nil}}, true,
			[]string{
				"ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node2 cost=1", "BACKWARD node=2 target=Cpu reason=last",
				"ENQUEUE stream=Cpu id=2 kind=Compute name=backward:node1 cost=1", "BACKWARD node=1 target=Cpu reason=first",
			},
			tiers{"g1": tier.VRAM, "g2": tier.RAM},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manager(t, c.device, nil, c.at)
			var lines timeline.Lines
			if err := Execute(t.Context(), timeline.NewTimeline(timeline.TakeTurns, &lines), m, c.nodes, c.gpu); err != nil {
				t.Error(err)
			}
			wantLines(t, lines, c.lines...)
			wantTiers(t, m, c.after)
		})
	}
	t.Run("AG-3", func(t *testing.T) {
		m := manager(t, nil, nil, nil)
		m.Register("g1", 4, tier.SSD)
		m.Register("g2", 4, tier.SSD)
		var lines timeline.Lines
		nodes := []Node{{1, stream.OnCPU, "r", declared(tier.SSD, "g1"), declared(tier.SSD, "g2")}}
		if err := Execute(t.Context(), timeline.NewTimeline(timeline.TakeTurns, &lines), m, nodes, false); err != nil {
			t.Error(err)
		}
		wantLines(t, lines[:1], "ENQUEUE stream=Cpu id=1 kind=Compute name=backward:node1 cost=1")
		wantTiers(t, m, tiers{"g1": tier.RAM, "g2": tier.RAM})
	})
}

// TestTrace is the table of backward passes with one.
func TestTrace(t *testing.T) {
	in := func(k RecordKind, id string, from, to tier.Tier) Record {
		return Record{Kind: k, ID: id, From: from, To: to}
	}
	skipped := func(id, why string) Record { return Record{Kind: Skipped, ID: id, Reason: why} }
	const there = "already in target tier"
	for _, c := range []struct {
		name   string
		device tier.Adapter
		at     tiers
		node   Node
		want   Trace
		line   string
	}{
		{
			"AG-4", &tiertest.FakeVRAM{}, tiers{"g1": tier.RAM, "g2": tier.RAM},
			Node{1, stream.OnGPU, "r", declared(tier.VRAM, "g1"), declared(tier.VRAM, "g2")},
			Trace{1, stream.OnGPU, stream.OnGPU, stream.OnGPU, "r", []Record{
				in(Planned, "g1", tier.RAM, tier.VRAM), in(Applied, "g1", tier.RAM, tier.VRAM),
				in(Planned, "g2", tier.RAM, tier.VRAM), in(Applied, "g2", tier.RAM, tier.VRAM),
			}},
			"AUTOGRAD node=1 target=Gpu moves=4 fallback=0",
		},
		{
			"AG-5", &tiertest.FakeVRAM{Fail: tiertest.Refuse(map[tiertest.Call][]string{tiertest.Upload: {"*"}})},
			tiers{"g1": tier.RAM, "g2": tier.RAM},
			Node{1, stream.OnGPU, "", declared(tier.VRAM, "g1", "g2"), nil},
			Trace{1, stream.OnGPU, stream.OnGPU, stream.OnCPU, "GPU fallback due to move failure", []Record{
				in(Planned, "g1", tier.RAM, tier.VRAM), {Kind: Failed, ID: "g1"},
				in(Planned, "g2", tier.RAM, tier.VRAM), {Kind: Failed, ID: "g2"},
				skipped("g1", there), skipped("g2", there),
			}},
			"AUTOGRAD node=1 target=Cpu moves=6 fallback=1",
		},
		{
			"AG-6", nil, tiers{"g1": tier.RAM},
			Node{4, stream.OnCPU, "r", declared(tier.VRAM, "g1"), declared(tier.VRAM, "g1")},
			Trace{4, stream.OnCPU, stream.OnCPU, stream.OnCPU, "r", []Record{skipped("g1", there), skipped("g1", there)}},
			"AUTOGRAD node=4 target=Cpu moves=2 fallback=0",
		},
		{
			"no_device", nil, tiers{"g1": tier.RAM},
			Node{5, stream.OnGPU, "r", declared(tier.VRAM, "g1", "ghost"), nil},
			Trace{5, stream.OnGPU, stream.OnGPU, stream.OnCPU, "r; GPU fallback due to move failure", []Record{
				in(Planned, "g1", tier.RAM, tier.VRAM), {Kind: Failed, ID: "g1"},
				skipped("ghost", "tensor not registered in memory manager"),
				skipped("g1", there), skipped("ghost", "tensor not registered in memory manager"),
			}},
			"AUTOGRAD node=5 target=Cpu moves=5 fallback=1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manager(t, c.device, nil, c.at)
			var lines timeline.Lines
			got, err := ExecuteTraced(t.Context(), timeline.NewTimeline(timeline.TakeTurns, &lines), m, []Node{c.node}, true)
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
			wantLines(t, lines[1:], c.line)
		})
	}
}

// TestCancelled holds that a cancelled pass submits nothing more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := manager(t, &tiertest.FakeVRAM{}, nil, tiers{"g": tier.RAM})
	nodes := []Node{{1, stream.OnGPU, "", declared(tier.VRAM, "g"), nil}}
	var lines timeline.Lines
	timeline := timeline.NewTimeline(timeline.TakeTurns, &lines)
	if err := Execute(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := ExecuteTraced(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nodes[0].Forward = stream.OnCPU
	if err := Execute(ctx, timeline, m, nodes, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantLines(t, lines)
}

func TestRecordKind(t *testing.T) {
	for k := range Failed + 1 {
		var back RecordKind
		if b, _ := k.MarshalText(); back.UnmarshalText(b) != nil || back != k {
			t.Errorf("%v is read as %v", k, back)
		}
	}
	var k RecordKind
	if err := k.UnmarshalText([]byte("Lost")); err == nil || RecordKind(9).String() != "RecordKind(9)" {
		t.Error(err)
	}
}
