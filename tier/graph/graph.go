package graph

import (
	"context"
	"fmt"
	"slices"

	"atenia/tier"
	"atenia/tier/stream"
	"atenia/tier/timeline"
)

// A Node is one kernel and its tensors.
type Node struct {
	ID      uint64        `json:"id"` // its place in the graph, from 0
	Kernel  stream.Kernel `json:"kernel"`
	Tensors []string      `json:"tensor_ids"`
	Tiers   []tier.Tier   `json:"tensor_tiers"` // of the tensors, as they were declared
}

// A Graph is kernels in the order in which they run. Its zero value is empty.
type Graph struct {
	nodes []Node
}

// Add appends a kernel whose tensors are known by their tiers alone, and
// returns the node's id. The tensors are named t<node>_<i>.
func (g *Graph) Add(k stream.Kernel, tiers []tier.Tier) uint64 {
	ids := make([]string, len(tiers))
	for i := range ids {
		ids[i] = fmt.Sprintf("t%d_%d", len(g.nodes), i)
	}
	return g.AddTensors(k, ids, tiers)
}

// AddTensors appends a kernel and its tensors, and returns the node's id. Of
// lists of different lengths the longer one is cut.
func (g *Graph) AddTensors(k stream.Kernel, ids []string, tiers []tier.Tier) uint64 {
	n := min(len(ids), len(tiers))
	id := uint64(len(g.nodes))
	g.nodes = append(g.nodes, Node{id, k, slices.Clone(ids[:n]), slices.Clone(tiers[:n])})
	return id
}

// Nodes returns the nodes. They must not be changed.
func (g *Graph) Nodes() []Node { return slices.Clip(g.nodes) }

// Tensors returns the ids of all tensors in the order of their first use.
func (g *Graph) Tensors() []string {
	var ids []string
	seen := map[string]bool{}
	for _, n := range g.nodes {
		for _, id := range n.Tensors {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// A Placement is where a node would run.
type Placement struct {
	Node   uint64        `json:"node_id"`
	Target stream.Target `json:"target"`
	Reason string        `json:"reason"`
}

// A Plan is where every node would run.
type Plan struct {
	Placements []Placement `json:"placements"`
	Summary    string      `json:"snapshot_summary"` // the pressures, in one line
}

// Plan places the nodes by the tiers that were declared for their tensors.
func (g *Graph) Plan(s tier.Snapshot, gpu bool) Plan {
	return g.plan(s, gpu, func(n *Node) []tier.Tier { return n.Tiers })
}

// PlanLive places the nodes by the tiers that their tensors are in now.
func (g *Graph) PlanLive(m *tier.Manager, s tier.Snapshot, gpu bool) Plan {
	return g.plan(s, gpu, func(n *Node) []tier.Tier {
		tiers := make([]tier.Tier, len(n.Tensors))
		for i, id := range n.Tensors {
			tiers[i] = stream.TierOf(m, id)
		}
		return tiers
	})
}

func (g *Graph) plan(s tier.Snapshot, gpu bool, tiers func(*Node) []tier.Tier) Plan {
	vram, ram := tier.PlanningPressures(s.VRAM.Pressure, s.RAM.Pressure)
	p := Plan{Summary: fmt.Sprintf("Snapshot pressures: vram=%.4f, ram=%.4f", vram, ram), Placements: []Placement{}}
	for i := range g.nodes {
		n := &g.nodes[i]
		k := stream.MakePlan(n.Kernel, tiers(n), s, gpu)
		p.Placements = append(p.Placements, Placement{n.ID, k.Target, k.Reason})
	}
	return p
}

// Enqueue routes the nodes in order: their tensors are moved, tasks are
// submitted. The end of ctx ends it, with the bundles so far.
func (g *Graph) Enqueue(ctx context.Context, q timeline.Submitter, m *tier.Manager, s tier.Snapshot, gpu bool) ([]stream.Bundle, error) {
	bundles := make([]stream.Bundle, 0, len(g.nodes))
	for i := range g.nodes {
		n := &g.nodes[i]
		b, err := stream.RouteTensors(ctx, q, m, n.Kernel, n.Tensors, s, gpu)
		if err != nil {
			return bundles, fmt.Errorf("node %d: %w", n.ID, err)
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}
