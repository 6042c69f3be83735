package decide

import (
	"context"
	"fmt"
	"slices"

	"atenia/internal/memory"

	"atenia/internal/memory/lane"
)

// A RouteNode is one kernel and its tensors.
type RouteNode struct {
	ID      uint64        `json:"id"` // position in the graph, from 0
	Kernel  Kernel        `json:"kernel"`
	Tensors []string      `json:"tensor_ids"`
	Tiers   []memory.Tier `json:"tensor_tiers"` // declared tiers of the tensors
	// Rows is set for a lookup, which reads a few rows of its tensors where they
	// are and moves none.
	Rows bool `json:"rows,omitempty"`
}

// A RouteGraph is a list of kernels in execution order. Its zero value is empty.
type RouteGraph struct {
	nodes []RouteNode
}

// Add appends a kernel whose tensors are given by their tiers alone, and returns
// the node's id. The tensors are named t<node>_<i>.
func (g *RouteGraph) Add(k Kernel, tiers []memory.Tier) uint64 {
	ids := make([]string, len(tiers))
	for i := range ids {
		ids[i] = fmt.Sprintf("t%d_%d", len(g.nodes), i)
	}
	return g.AddTensors(k, ids, tiers)
}

// AddTensors appends a kernel and its tensors, and returns the node's id. The
// longer of ids and tiers is cut to the length of the other.
func (g *RouteGraph) AddTensors(k Kernel, ids []string, tiers []memory.Tier) uint64 {
	n := min(len(ids), len(tiers))
	id := uint64(len(g.nodes))
	g.nodes = append(g.nodes, RouteNode{ID: id, Kernel: k, Tensors: slices.Clone(ids[:n]), Tiers: slices.Clone(tiers[:n])})
	return id
}

// AddLookup appends a kernel that reads a few rows of its tensors, wherever they
// are.
func (g *RouteGraph) AddLookup(k Kernel, ids []string, tiers []memory.Tier) uint64 {
	id := g.AddTensors(k, ids, tiers)
	g.nodes[id].Rows = true
	return id
}

// Nodes returns the nodes, which must not be modified.
func (g *RouteGraph) Nodes() []RouteNode { return slices.Clip(g.nodes) }

// A KernelPlacement says where a node would run.
type KernelPlacement struct {
	Node   uint64 `json:"node_id"`
	Target Target `json:"target"`
	Reason string `json:"reason"`
}

// A GraphPlacement says where every node would run.
type GraphPlacement struct {
	Placements []KernelPlacement `json:"placements"`
	Summary    string            `json:"snapshot_summary"` // the pressures, in one line
}

// Place places the nodes by the declared tiers of their tensors.
func (g *RouteGraph) Place(s memory.Snapshot, on Executors) GraphPlacement {
	return g.place(s, on, func(n *RouteNode) []memory.Tier { return n.Tiers })
}

// PlaceLive chooses where the nodes run by the current tiers of their tensors.
func (g *RouteGraph) PlaceLive(m *memory.Manager, s memory.Snapshot, on Executors) GraphPlacement {
	return g.place(s, on, func(n *RouteNode) []memory.Tier { return n.live(m) })
}

// live returns the current tiers of a node's tensors.
func (n *RouteNode) live(m *memory.Manager) []memory.Tier {
	tiers := make([]memory.Tier, len(n.Tensors))
	for i, id := range n.Tensors {
		tiers[i] = tierOf(m, id)
	}
	return tiers
}

func (g *RouteGraph) place(s memory.Snapshot, on Executors, tiers func(*RouteNode) []memory.Tier) GraphPlacement {
	vram, ram := memory.PlanningPressures(s.VRAM.Pressure, s.RAM.Pressure)
	p := GraphPlacement{Summary: fmt.Sprintf("Snapshot pressures: vram=%.4f, ram=%.4f", vram, ram), Placements: []KernelPlacement{}}
	for i := range g.nodes {
		n := &g.nodes[i]
		k := ChooseRoute(n.Kernel, tiers(n), s, on)
		p.Placements = append(p.Placements, KernelPlacement{n.ID, k.Target, k.Reason})
	}
	return p
}

// Enqueue routes the nodes in order: it moves their tensors and submits their
// tasks. When ctx ends it returns the bundles so far.
func (g *RouteGraph) Enqueue(ctx context.Context, q lane.Submitter, m *memory.Manager, s memory.Snapshot, on Executors) ([]Bundle, error) {
	bundles := make([]Bundle, 0, len(g.nodes))
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.Rows {
			bundles = append(bundles, Route(q, n.Kernel, n.live(m), s, on))
			continue
		}
		b, err := RouteTensors(ctx, q, m, n.Kernel, n.Tensors, s, on)
		if err != nil {
			return bundles, fmt.Errorf("node %d: %w", n.ID, err)
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}
