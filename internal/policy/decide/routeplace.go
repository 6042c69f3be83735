package decide

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/memory"

	"atenia/internal/memory/lane"
)

// A Gradient is a tensor of the backward pass and the tier it is declared to be
// in.
type Gradient struct {
	ID   string      `json:"id"`
	Tier memory.Tier `json:"tier"`
}

// A BackwardNode is the backward pass of one kernel.
type BackwardNode struct {
	ID      uint64     `json:"node_id"`
	Forward Target     `json:"forward_target"` // where the kernel ran
	Reason  string     `json:"reason"`         // for the timeline
	Inputs  []Gradient `json:"input_grads"`
	Outputs []Gradient `json:"output_grads"`
}

// gradients returns those of inputs, then those of outputs.
func (n *BackwardNode) gradients() []Gradient {
	return append(append(make([]Gradient, 0, len(n.Inputs)+len(n.Outputs)), n.Inputs...), n.Outputs...)
}

// Target returns where the backward pass of the node is to run.
func (n *BackwardNode) Target(gpu bool) Target { return backwardTarget(n.Forward, n.gradients(), gpu) }

// task returns the node's computation.
func (n *BackwardNode) task(at Target) lane.QueuedTask {
	return lane.QueuedTask{Queue: at.Queue(), Kind: lane.ComputeTask, Name: fmt.Sprintf("backward:node%d", n.ID), Cost: 1}
}

// backwardTarget returns where a backward pass is to run: on the device if there is
// one, the forward pass ran there, and all gradients, at least one, are declared
// to be in VRAM; else on the processor.
func backwardTarget(forward Target, grads []Gradient, gpu bool) Target {
	if forward != OnGPU || !gpu || len(grads) == 0 {
		return OnCPU
	}
	for _, g := range grads {
		if g.Tier != memory.VRAM {
			return OnCPU
		}
	}
	return OnGPU
}

// memoryOf returns the tier in which a target reads its gradients.
func memoryOf(t Target) memory.Tier {
	if t == OnGPU {
		return memory.VRAM
	}
	return memory.RAM
}

// errDegraded is the kind of a move whose plan degraded to a tier that the
// target does not read.
var errDegraded = errors.New("degraded placement")

// move brings a gradient to a tier. A plan that degrades to another tier is an
// error and is not applied, because the target would read the wrong memory.
func move(ctx context.Context, m *memory.Manager, id string, to memory.Tier) error {
	p, err := m.PlanMove(id, to)
	if err != nil {
		return err
	}
	if p.To != to {
		return fmt.Errorf("%q: %w: %s", id, errDegraded, p.Reason)
	}
	if err := m.ApplyMove(ctx, id, p); err != nil {
		return err
	}
	if at, _ := m.Tier(id); at != to {
		return fmt.Errorf("%q: %w: it stayed in %v", id, errDegraded, at)
	}
	return nil
}

// PrepareGradients moves the gradients to the memory of a target: VRAM for Gpu, else RAM.
// It skips those that are not registered and stops at the first error.
func PrepareGradients(ctx context.Context, m *memory.Manager, grads []Gradient, target Target) error {
	to := memoryOf(target)
	for _, g := range grads {
		if at, ok := m.Tier(g.ID); !ok || at == to {
			continue
		}
		if err := move(ctx, m, g.ID, to); err != nil {
			return err
		}
	}
	return nil
}

// ExecuteBackward prepares and submits the backward passes of the nodes, the last node
// first. If gradients do not get to VRAM, the node degrades to the processor.
// There a gradient that cannot be moved is no error, because the computation
// reads it where it is. The only error is the end of ctx.
func ExecuteBackward(ctx context.Context, t *lane.Timeline, m *memory.Manager, nodes []BackwardNode, gpu bool) error {
	for i := range nodes {
		n := &nodes[len(nodes)-1-i]
		grads, target := n.gradients(), n.Target(gpu)
		if target == OnGPU && PrepareGradients(ctx, m, grads, target) != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.Linef("BACKWARD_FALLBACK node=%d from=Gpu to=Cpu", n.ID)
			target = OnCPU
		}
		if target == OnCPU {
			for i := range grads { // a failed move does not stop the others
				PrepareGradients(ctx, m, grads[i:i+1], target)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t.Submit(n.task(target))
		t.Linef("BACKWARD node=%d target=%s reason=%s", n.ID, target, n.Reason)
	}
	return nil
}
