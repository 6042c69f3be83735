package replay

import (
	"atenia/tier"
	"atenia/tier/backward"
	"atenia/tier/decision"
	"atenia/tier/stream"
	"atenia/tier/timeline"
)

// routeInputs are the inputs of a kernel's route: its plan and the outcome of
// moving its tensors.
type routeInputs struct {
	Kernel    stream.Kernel `json:"kernel"`
	Tensors   []routeTensor `json:"tensors"` // each once
	Pressures pressures     `json:"pressures"`
	GPU       bool          `json:"gpu_available"`
}

type routeTensor struct {
	ID   string             `json:"id"`
	Tier tier.Tier          `json:"tier"` // before the moves
	Move stream.MoveOutcome `json:"move"`
}

func (in routeInputs) draft(*history) (decision.Draft, error) {
	var tiers []tier.Tier
	var moves []stream.MoveOutcome
	for _, t := range in.Tensors {
		tiers, moves = append(tiers, t.Tier), append(moves, t.Move)
	}
	p := stream.MakePlan(in.Kernel, tiers, in.Pressures.snapshot(), in.GPU)
	d := planDraft(p)
	target, reason := p.After(moves)
	d.Target, d.Reason = target.String(), reason
	for _, m := range moves {
		if m != stream.InPlace {
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
	timeline.Submitter
	r   *Recorder
	s   tier.Snapshot
	gpu bool
}

// Routed records the route.
func (w *watch) Routed(e stream.Routed) {
	in := routeInputs{Kernel: e.Kernel, Tensors: []routeTensor{}, Pressures: pressuresOf(w.s), GPU: w.gpu}
	for i, id := range e.IDs {
		in.Tensors = append(in.Tensors, routeTensor{id, e.Tiers[i], e.Moves[i]})
	}
	d, _ := in.draft(nil)
	d.Target, d.Reason = e.Bundle.Target.String(), e.Bundle.Reason
	w.r.record("router", in, d)
}

// Watch returns a submitter for [stream.RouteTensors], or for the kernels of a
// graph, that passes tasks to q and records every route. s and gpu must be those
// passed to the routing call.
func (r *Recorder) Watch(q timeline.Submitter, s tier.Snapshot, gpu bool) timeline.Submitter {
	if r.Journal == nil {
		return q
	}
	return &watch{q, r, s, gpu}
}

// backwardInputs are the inputs of placing a backward pass.
type backwardInputs struct {
	Node    uint64              `json:"node_id"`
	Forward stream.Target       `json:"forward_target"`
	Grads   []backward.Gradient `json:"grads"`
	GPU     bool                `json:"gpu_available"`
}

func (in backwardInputs) draft(*history) (decision.Draft, error) {
	d := decision.Draft{Target: backward.TargetOf(in.Forward, in.Grads, in.GPU).String()}
	d.Rule, d.Reason = "AllInVram", "the forward pass ran there and all gradients are declared in VRAM"
	if d.Target != stream.OnGPU.String() {
		d.Rule, d.Reason = "NotAllInVram", "a device, a forward pass on it and gradients that are all declared in VRAM are needed for another place"
	}
	d.Evaluated = []string{d.Rule}
	return d, nil
}

// Backward is [backward.Node.Target].
func (r *Recorder) Backward(n *backward.Node, gpu bool) stream.Target {
	t := n.Target(gpu)
	if r.Journal != nil {
		in := backwardInputs{n.ID, n.Forward, append(append([]backward.Gradient{}, n.Inputs...), n.Outputs...), gpu}
		d, _ := in.draft(nil)
		r.record("backward", in, d)
	}
	return t
}
