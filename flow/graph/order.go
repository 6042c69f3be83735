package graph

import (
	"cmp"
	"fmt"
	"slices"
)

// maxControl bounds the control edges of barriers: a gate on m edges makes up
// to m².
const maxControl = 1 << 20

// barriers turns barrier gates into control edges: every reader of an edge with
// the gate waits for all edges with it. A gate that the plan does not declare
// is a barrier.
func (l *linker) barriers() error {
	kind := map[int]GateKind{}
	for _, g := range l.Plan.Gates {
		kind[g.ID] = g.Kind
	}
	edges := map[int][]int{}
	var ids []int
	for i := range l.Edges {
		for _, id := range l.Edges[i].Gates {
			if kind[id] != Barrier {
				continue
			}
			if edges[id] == nil {
				ids = append(ids, id)
			}
			if all := edges[id]; len(all) == 0 || all[len(all)-1] != i {
				edges[id] = append(all, i)
			}
		}
	}
	slices.Sort(ids)
	arcs := slices.Clone(l.free)
	for _, id := range ids {
		var readers []int
		for _, i := range edges[id] {
			readers = append(readers, l.Edges[i].Dst)
		}
		slices.Sort(readers)
		readers = slices.Compact(readers)
		if len(l.Control)+len(readers)*len(edges[id]) > maxControl {
			return l.fault(Malformed, l.Plan.Root+".edges", nil, "gate %d is on too many edges: %d of them with %d readers", id, len(edges[id]), len(readers))
		}
		for _, d := range readers {
			for _, i := range edges[id] {
				e := &l.Edges[i]
				if e.Dst == d {
					continue
				}
				l.Control = append(l.Control, Control{id, i, d})
				if e.Prefill == 0 {
					arcs = append(arcs, arc{From: e.Src, To: d})
				}
			}
		}
	}
	if len(l.Control) > 0 {
		if c := newDigraph(len(l.Nodes), arcs).Cycle(); c != nil {
			return l.fault(Deadlock, l.Plan.Root+".edges", c, "a gate makes a node wait for its own descendant")
		}
	}
	return nil
}

// stages checks the schedule that the plan supplies, or else assigns each node
// the longest path to it over edges without prefill.
func (l *linker) stages() error {
	if l.Plan.IPLS == nil {
		for v, d := range newDigraph(len(l.Nodes), l.free).Depths() {
			l.Nodes[v].Stage = d
		}
		return nil
	}
	cohort := make([]int, len(l.Nodes)) // counted across all stages, from 1
	count := 0
	for i, stage := range l.Plan.IPLS.Stages {
		for _, c := range stage.Cohorts {
			count++
			for k, name := range c.Nodes {
				path := fmt.Sprintf("%s.nodes[%d]", c.Path, k)
				v, ok := l.index[name]
				if !ok {
					return &Error{Malformed, path, []string{name}, fmt.Sprintf("unknown node %s", name)}
				}
				n := &l.Nodes[v]
				if cohort[v] != 0 {
					return l.fault(Malformed, path, []int{v}, "node %s appears twice in the schedule", name)
				}
				if n.Type != c.Type || n.OversampleRatio != c.OversampleRatio {
					return l.fault(Malformed, path, []int{v}, "node %s of type %s and ratio %d does not belong to the cohort", name, n.Type, n.OversampleRatio)
				}
				n.Stage, cohort[v] = i, count
			}
		}
	}
	if v := slices.Index(cohort, 0); v >= 0 {
		return l.fault(Malformed, l.Plan.Root+".ipls.stages", []int{v}, "node %s is missing", l.Nodes[v].Name)
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		if e.Prefill == 0 && (l.Nodes[e.Src].Stage > l.Nodes[e.Dst].Stage || cohort[e.Src] == cohort[e.Dst]) {
			return l.fault(Malformed, e.Path, []int{e.Src, e.Dst}, "the schedule runs %s no later than %s, which it reads", l.Nodes[e.Dst].Name, l.Nodes[e.Src].Name)
		}
	}
	return nil
}

// order sorts the nodes topologically, so that one pass visits each after its
// dependencies within a block: by depth over edges without prefill and over
// control edges, or, if the plan supplies a schedule, by stage and cohort as
// far as gates allow.
func (l *linker) order() error {
	arcs := slices.Clone(l.free)
	for _, c := range l.Control {
		if e := &l.Edges[c.Edge]; e.Prefill == 0 {
			arcs = append(arcs, arc{From: e.Src, To: c.Dst})
		}
	}
	g := newDigraph(len(l.Nodes), arcs)
	if l.Plan.IPLS == nil {
		l.Order = byDepth(g.Depths())
		return nil
	}
	at := make([]int, 0, len(l.Nodes))
	for _, stage := range l.Plan.IPLS.Stages {
		for _, c := range stage.Cohorts {
			for _, name := range c.Nodes {
				at = append(at, l.index[name])
			}
		}
	}
	rank := make([]int, len(l.Nodes))
	for r, v := range at {
		rank[v] = r
	}
	l.Order = g.Sorted(func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	return nil
}
