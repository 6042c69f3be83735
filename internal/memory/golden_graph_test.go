package memory_test

import (
	"reflect"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["graph"] = runGraph }

// A goldenNode is a node as cases write it; without ids it is added by tiers.
type goldenNode struct {
	Kernel decide.Kernel
	IDs    []string      `json:"tensor_ids"`
	Tiers  []memory.Tier `json:"tensor_tiers"`
}

func goldenGraph(nodes []goldenNode) *decide.RouteGraph {
	g := new(decide.RouteGraph)
	for _, n := range nodes {
		if n.IDs == nil {
			g.Add(n.Kernel, n.Tiers)
		} else {
			g.AddTensors(n.Kernel, n.IDs, n.Tiers)
		}
	}
	return g
}

func runGraph(t *testing.T, c *goldenCase) {
	var in struct {
		Advanced  bool `json:"advanced_streams_supported"`
		Memory    goldenMemory
		Nodes     []goldenNode
		GPU       bool `json:"gpu_available"`
		Snapshots []pressures
	}
	var want struct {
		Nodes []struct {
			ID    uint64
			IDs   []string      `json:"tensor_ids"`
			Tiers []memory.Tier `json:"tensor_tiers"`
		}
		Plans    []decide.GraphPlacement `json:"plan_for_snapshot"`
		Live     []decide.GraphPlacement `json:"plan_for_snapshot_with_mem"`
		Bundles  []decide.Bundle
		Timeline []string
		Tensors  []wantTensor
		Ledger   wantLedger
	}
	c.decode(t, &in, &want)
	m, g := in.Memory.build(t), goldenGraph(in.Nodes)
	if got := g.Nodes(); len(got) != len(want.Nodes) {
		t.Fatalf("%d nodes, want %d", len(got), len(want.Nodes))
	}
	for i, n := range g.Nodes() {
		w := want.Nodes[i]
		if n.ID != w.ID || !reflect.DeepEqual(n.Tensors, w.IDs) || !reflect.DeepEqual(n.Tiers, w.Tiers) {
			t.Errorf("node %d: got %+v, want %+v", i, n, w)
		}
	}
	for i, s := range in.Snapshots {
		if got := g.Place(s.snapshot(), decide.Executors{GPU: in.GPU}); !reflect.DeepEqual(got, want.Plans[i]) {
			t.Errorf("plan %d: got %+v, want %+v", i, got, want.Plans[i])
		}
		if got := g.PlaceLive(m.Manager, s.snapshot(), decide.Executors{GPU: in.GPU}); !reflect.DeepEqual(got, want.Live[i]) {
			t.Errorf("live plan %d: got %+v, want %+v", i, got, want.Live[i])
		}
	}
	timeline, lines := goldenTimeline(in.Advanced)
	bundles, err := g.Enqueue(t.Context(), timeline, m.Manager, in.Snapshots[0].snapshot(), decide.Executors{GPU: in.GPU})
	if err != nil || !reflect.DeepEqual(bundles, want.Bundles) {
		t.Errorf("bundles %+v, %v, want %+v", bundles, err, want.Bundles)
	}
	timeline.Run()
	checkLines(t, "timeline", *lines, want.Timeline)
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}
