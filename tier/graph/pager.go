package graph

import (
	"context"
	"fmt"

	"atenia/tier"
	"atenia/tier/lane"
	"atenia/tier/timeline"
)

// A Pager runs graphs whose tensors do not all fit into RAM. What is not there
// is read while other kernels compute, and no more bytes are in RAM at any
// moment than the limit allows.
type Pager struct {
	Memory *tier.Manager
	Lanes  *lane.Executor
	Limit  uint64 // bytes of all tensors of Memory in RAM
	// Ahead is how many kernels before its own a tensor may be read, at the
	// cost of as many tensors that could have stayed. With 0 the fewest bytes
	// move, and every read is waited for.
	Ahead int
	// Compute runs a kernel. data has the bytes of its tensors, in order; they
	// are its own until it returns, and are not to be changed.
	Compute func(ctx context.Context, n *Node, data [][]byte) error
}

// Plan decides what a tick of the graph now moves when the next tick is of the
// graph next.
func (p *Pager) Plan(now, next *Graph) (Paging, error) {
	return planPages(p.Memory, now, next, p.Limit, p.Ahead)
}

// Tick runs the kernels of now, in order, and moves what [Pager.Plan] says,
// which it returns. After an error tensors are where the moves that were done
// have left them; the next tick plans from there.
func (p *Pager) Tick(ctx context.Context, now, next *Graph) (Paging, error) {
	plan, err := p.Plan(now, next)
	if err != nil {
		return plan, err
	}
	return plan, p.Lanes.Run(ctx, func(g *lane.Group) error {
		p.submit(g, now, plan)
		return nil
	})
}

// submit makes tasks of a plan. Tensors leave one after the other, each after
// the last kernel that uses it; a read comes after all that were to leave
// before it in the plan, so that the plan's bytes are the most that RAM holds.
// A kernel comes after its reads and the kernel before it.
func (p *Pager) submit(g *lane.Group, now *Graph, plan Paging) {
	computed := make([]uint64, len(plan.Steps)) // tasks, by node
	var left, before uint64
	for i, s := range plan.Steps {
		for _, e := range s.Evict {
			var after uint64
			if e.After != nil {
				after = computed[*e.After]
			}
			left = g.Go(p.move(e.ID, tier.SSD, timeline.Task{Queue: timeline.CPU, Kind: timeline.Transfer}), left, after)
		}
		after := []uint64{before}
		for _, id := range s.Load {
			after = append(after, g.Go(p.move(id, tier.RAM, timeline.Task{Queue: timeline.SSDPrefetch, Kind: timeline.IO}), left))
		}
		n := &now.nodes[i]
		before = g.Go(lane.Task{
			Task: timeline.Task{Queue: timeline.CPU, Kind: timeline.Compute, Name: n.Kernel.Name, Cost: 1},
			Work: lane.Func(func(ctx context.Context) error { return p.compute(ctx, n) }),
		}, after...)
		computed[i] = before
	}
}

// move is the task of moving a tensor.
func (p *Pager) move(id string, to tier.Tier, t timeline.Task) lane.Task {
	r, _ := p.Memory.Residence(id) // where it is now; it may be elsewhere when its turn comes
	from := tier.RAM
	if to == tier.RAM {
		from = tier.SSD
		if r.Backing == tier.BackingVRAMHandle {
			from = tier.VRAM
		}
	}
	t.Name, t.Cost = fmt.Sprintf("move:%s->%s:%s", from.Lower(), to.Lower(), id), 1
	return lane.Task{Task: t, Tensor: id, Bytes: r.Bytes, Work: lane.Func(func(ctx context.Context) error {
		_, err := p.Memory.Move(ctx, id, to)
		return err
	})}
}

// compute leases the tensors of a kernel and runs it.
func (p *Pager) compute(ctx context.Context, n *Node) error {
	data := make([][]byte, 0, len(n.Tensors))
	for _, id := range n.Tensors {
		l, err := p.Memory.Lease(ctx, id)
		if err != nil {
			return err
		}
		defer l.Release()
		data = append(data, l.Bytes)
	}
	return p.Compute(ctx, n, data)
}
