package decide

import (
	"fmt"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/policy/record"

	"atenia/internal/memory/lane"
)

// routeInputs are the inputs of a kernel's route: its plan and the outcome of
// moving its tensors.
type routeInputs struct {
	Kernel    Kernel        `json:"kernel"`
	Tensors   []routeTensor `json:"tensors"` // each once
	Pressures pressures     `json:"pressures"`
	Executors
}

type routeTensor struct {
	ID   string      `json:"id"`
	Tier memory.Tier `json:"tier"` // before the moves
	Move MoveOutcome `json:"move"`
}

func (in routeInputs) draft(*history) (record.Draft, error) {
	var tiers []memory.Tier
	var moves []MoveOutcome
	for _, t := range in.Tensors {
		tiers, moves = append(tiers, t.Tier), append(moves, t.Move)
	}
	p := ChooseRoute(in.Kernel, tiers, in.Pressures.snapshot(), in.Executors)
	d := targetDraft(p)
	target, reason := p.After(moves)
	d.Target, d.Reason = target.String(), reason
	for _, m := range moves {
		if m != inPlace {
			d.Rule = m.String() // the last outcome, which also gives the reason
		}
	}
	if d.Rule != p.Trace.Winner.String() {
		d.Evaluated = append(d.Evaluated, d.Rule)
	}
	return d, nil
}

// A watch is a submitter that records routes.
type watch struct {
	lane.Submitter
	r  *Recorder
	s  memory.Snapshot
	on Executors
}

// Routed records the route.
func (w *watch) Routed(e Routed) {
	in := routeInputs{Kernel: e.Kernel, Tensors: []routeTensor{}, Pressures: pressuresOf(w.s), Executors: w.on}
	for i, id := range e.IDs {
		in.Tensors = append(in.Tensors, routeTensor{id, e.Tiers[i], e.Moves[i]})
	}
	d, _ := in.draft(nil)
	d.Target, d.Reason = e.Bundle.Target.String(), e.Bundle.Reason
	w.r.record("router", in, d)
}

// Watch returns a submitter for [RouteTensors], or for the kernels of a
// graph, that passes tasks to q and records every route. s and on must be those
// passed to the routing call.
func (r *Recorder) Watch(q lane.Submitter, s memory.Snapshot, on Executors) lane.Submitter {
	if r.Journal == nil {
		return q
	}
	return &watch{q, r, s, on}
}

// graphInputs are the inputs of placing the kernels of a graph.
type graphInputs struct {
	Kernels   []targetKernel `json:"kernels"` // in the order in which they run
	Pressures pressures      `json:"pressures"`
	Executors
}

// A targetKernel is a kernel and the tiers of its tensors.
type targetKernel struct {
	Kernel Kernel        `json:"kernel"`
	Tiers  []memory.Tier `json:"tiers"`
}

func (in graphInputs) draft(*history) (record.Draft, error) {
	var g RouteGraph
	for _, k := range in.Kernels {
		g.Add(k.Kernel, k.Tiers)
	}
	return graphDraft(g.Place(in.Pressures.snapshot(), in.Executors)), nil
}

// graphDraft counts where the kernels run, by targets.
func graphDraft(p GraphPlacement) record.Draft {
	d := record.Draft{Rule: "PerKernel", Reason: p.Summary}
	var counts [OnCPUFallback + 1]int
	for _, k := range p.Placements {
		counts[k.Target]++
		if !slices.Contains(d.Evaluated, k.Reason) {
			d.Evaluated = append(d.Evaluated, k.Reason)
		}
	}
	d.Target = fmt.Sprintf("%v=%d %v=%d %v=%d", OnCPU, counts[OnCPU], OnGPU, counts[OnGPU], OnCPUFallback, counts[OnCPUFallback])
	return d
}

// At sets the tick of the next records.
func (r *Recorder) At(tick uint64) { r.Tick = tick }

// Graph is [RouteGraph.PlaceLive], with a record for the graph and, by
// [Recorder.Target], one for each kernel.
func (r *Recorder) Graph(g *RouteGraph, m *memory.Manager, s memory.Snapshot, on Executors) GraphPlacement {
	p := g.PlaceLive(m, s, on)
	if r.Journal == nil {
		return p
	}
	in := graphInputs{Kernels: []targetKernel{}, Pressures: pressuresOf(s), Executors: on}
	for _, n := range g.Nodes() {
		k := targetKernel{n.Kernel, []memory.Tier{}}
		for _, id := range n.Tensors {
			k.Tiers = append(k.Tiers, tierOf(m, id))
		}
		in.Kernels = append(in.Kernels, k)
		r.Target(k.Kernel, k.Tiers, s, on)
	}
	r.record("graph", in, graphDraft(p))
	return p
}

// backwardInputs are the inputs of placing a backward pass.
type backwardInputs struct {
	Node    uint64     `json:"node_id"`
	Forward Target     `json:"forward_target"`
	Grads   []Gradient `json:"grads"`
	GPU     bool       `json:"gpu_available"`
}

func (in backwardInputs) draft(*history) (record.Draft, error) {
	d := record.Draft{Target: backwardTarget(in.Forward, in.Grads, in.GPU).String()}
	d.Rule, d.Reason = "AllInVram", "the forward pass ran there and all gradients are declared in VRAM"
	if d.Target != OnGPU.String() {
		d.Rule, d.Reason = "NotAllInVram", "a device, a forward pass on it and gradients that are all declared in VRAM are needed for another place"
	}
	d.Evaluated = []string{d.Rule}
	return d, nil
}

// Backward is [BackwardNode.Target].
func (r *Recorder) Backward(n *BackwardNode, gpu bool) Target {
	t := n.Target(gpu)
	if r.Journal != nil {
		in := backwardInputs{n.ID, n.Forward, n.gradients(), gpu}
		d, _ := in.draft(nil)
		r.record("backward", in, d)
	}
	return t
}
