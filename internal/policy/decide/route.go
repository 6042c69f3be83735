package decide

import (
	"context"
	"fmt"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
)

// A Bundle is the outcome of routing one kernel: the submitted tasks, in order,
// and where it runs.
type Bundle struct {
	Target Target   `json:"plan_target"`
	Tasks  []uint64 `json:"submitted_task_ids"`
	Reason string   `json:"reason"`
}

// Reasons for degrading a kernel to the processor, appended to the plan's own
// reason.
const (
	noVRAM     = "; degraded to CPU because VRAM is unavailable"
	moveFailed = "; degraded to CPU because memory move failed"
)

// Route plans a kernel whose tensors are in the given tiers and submits its
// tasks. It moves nothing.
func Route(q lane.Submitter, k Kernel, tiers []memory.Tier, s memory.Snapshot, on Executors) Bundle {
	p := ChooseRoute(k, tiers, s, on)
	b := Bundle{Target: p.Target, Reason: p.Reason}
	if slices.Contains(tiers, memory.SSD) {
		b.submit(q, lane.SSDPrefetch, lane.IOTask, "prefetch:"+k.Name)
	}
	b.submit(q, p.Target.Queue(), lane.ComputeTask, k.Name)
	return b
}

func (b *Bundle) submit(q lane.Submitter, at lane.Queue, kind lane.TaskKind, name string) {
	b.Tasks = append(b.Tasks, q.Submit(lane.QueuedTask{Queue: at, Kind: kind, Name: name, Cost: 1}))
}

// RouteTensors plans a kernel by the tiers of its tensors, moves them to where
// it runs, and submits a task for each step: prefetches, moves, the computation.
// An id that is not registered counts as being in RAM.
//
// If a tensor cannot be moved to VRAM, the kernel is degraded to the processor,
// and tensors already moved to VRAM are moved back first. The only error is the
// end of ctx; then the computation is not submitted.
func RouteTensors(ctx context.Context, q lane.Submitter, m *memory.Manager, k Kernel, ids []string, s memory.Snapshot, on Executors) (Bundle, error) {
	r := route{q: q, m: m, ids: unique(ids)}
	for _, id := range r.ids {
		r.tiers = append(r.tiers, tierOf(m, id))
	}
	p := ChooseRoute(k, r.tiers, s, on)
	r.b = Bundle{Target: p.Target, Reason: p.Reason}
	r.prefetch()
	if err := r.move(ctx, p); err != nil {
		return r.b, err
	}
	if p.Target == OnGPU && r.b.Target != OnGPU {
		if err := r.moveBack(ctx); err != nil {
			return r.b, err
		}
	}
	r.b.submit(q, r.b.Target.Queue(), lane.ComputeTask, k.Name)
	if l, ok := q.(routeListener); ok {
		l.Routed(Routed{Kernel: k, IDs: r.ids, Tiers: r.tiers, Moves: r.moves, Bundle: r.b})
	}
	return r.b, nil
}

// tierOf returns the tier of a tensor, RAM if it is not registered.
func tierOf(m *memory.Manager, id string) memory.Tier {
	if t, ok := m.Tier(id); ok {
		return t
	}
	return memory.RAM
}

// unique returns the ids without duplicates, in order.
func unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// A route is the state of one call of RouteTensors.
type route struct {
	q     lane.Submitter
	m     *memory.Manager
	ids   []string
	tiers []memory.Tier // by id, before the call
	moves []MoveOutcome // by id
	b     Bundle
}

func (r *route) prefetch() {
	for i, id := range r.ids {
		if r.tiers[i] == memory.SSD {
			r.b.submit(r.q, lane.SSDPrefetch, lane.IOTask, "prefetch:"+id)
		}
	}
}

// move moves the tensors to the memory of the plan's target.
func (r *route) move(ctx context.Context, p RouteChoice) error {
	need := memory.RAM
	if p.Target == OnGPU {
		need = memory.VRAM
	}
	r.moves = make([]MoveOutcome, len(r.ids))
	for i, id := range r.ids {
		from := r.tiers[i]
		// The processor reads RAM, which is also where the bytes of tier CPU are.
		if from == need || from == memory.CPU && need == memory.RAM {
			continue
		}
		if r.m.Lent(id, need) {
			r.b.submit(r.q, p.Target.Queue(), lane.TransferTask, transfer(from, need, id))
			continue
		}
		switch to, err := moveTo(ctx, r.m, id, need); {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.moves[i] = failedMove
		case to != need:
			r.moves[i] = noDeviceRoom
		default:
			r.b.submit(r.q, p.Target.Queue(), lane.TransferTask, transfer(from, need, id))
		}
	}
	r.b.Target, r.b.Reason = p.After(r.moves)
	return nil
}

// moveBack moves the tensors of a degraded kernel from VRAM to RAM, where the
// processor can read them.
func (r *route) moveBack(ctx context.Context) error {
	for _, id := range r.ids {
		if tierOf(r.m, id) != memory.VRAM {
			continue
		}
		if _, err := moveTo(ctx, r.m, id, memory.RAM); err == nil {
			r.b.submit(r.q, lane.CPU, lane.TransferTask, transfer(memory.VRAM, memory.RAM, id))
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func transfer(from, to memory.Tier, id string) string {
	return fmt.Sprintf("move:%s->%s:%s", from.Lower(), to.Lower(), id)
}

// moveTo moves a tensor. If the plan degrades to another tier, it moves nothing
// and returns that tier.
func moveTo(ctx context.Context, m *memory.Manager, id string, need memory.Tier) (memory.Tier, error) {
	p, err := m.PlanMove(id, need)
	if err != nil || p.To != need {
		return p.To, err
	}
	if err := m.ApplyMove(ctx, id, p); err != nil {
		return need, err
	}
	at, _ := m.Tier(id) // a device that disappeared since leaves it where it was
	return at, nil
}
