package route

import (
	"context"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/timeline"
)

// A Pager runs graphs whose tensors do not all fit into RAM. Missing tensors are
// prefetched while other kernels compute, and the bytes in RAM never exceed the
// limit.
type Pager struct {
	Memory *memory.Manager
	Lanes  *lane.Executor
	Limit  uint64 // bytes that all tensors of Memory may take in RAM
	// Ahead is how many kernels before its first use a tensor may be prefetched.
	// Prefetched tensors displace others that could have stayed: 0 moves the fewest
	// bytes, but every read stalls a kernel.
	Ahead int
	// Compute runs a kernel. data holds the bytes of its tensors, in order; they
	// are pinned until it returns and read-only.
	Compute func(ctx context.Context, n *Node, data [][]byte) error
}

// Plan plans a tick of the graph now, given that the next tick runs the graph
// next.
func (p *Pager) Schedule(now, next *Graph) (Paging, error) {
	return schedulePages(p.Memory, now, next, p.Limit, p.Ahead)
}

// Tick runs the kernels of now in order with the moves of [Pager.Schedule], which it
// returns. After an error, tensors stay where completed moves left them; the
// next tick plans from there.
func (p *Pager) Tick(ctx context.Context, now, next *Graph) (Paging, error) {
	paging, err := p.Schedule(now, next)
	if err != nil {
		return paging, err
	}
	return paging, p.Lanes.Run(ctx, func(g *lane.Group) error {
		p.submit(g, now, paging)
		return nil
	})
}

// submit creates the tasks of a plan. Evictions run one after another, each
// after the last kernel that uses the tensor. A read runs after all evictions
// before it in the plan, so that RAM never holds more than planned. A kernel
// runs after its reads and the previous kernel.
func (p *Pager) submit(g *lane.Group, now *Graph, paging Paging) {
	computed := make([]uint64, len(paging.Steps)) // task ids by node
	var left, before uint64
	for i, s := range paging.Steps {
		for _, e := range s.Evict {
			var after uint64
			if e.After != nil {
				after = computed[*e.After]
			}
			left = g.Go(p.move(e.ID, memory.SSD, timeline.Task{Queue: timeline.CPU, Kind: timeline.Transfer}), left, after)
		}
		after := []uint64{before}
		for _, id := range s.Load {
			after = append(after, g.Go(p.move(id, memory.RAM, timeline.Task{Queue: timeline.SSDPrefetch, Kind: timeline.IO}), left))
		}
		n := &now.nodes[i]
		before = g.Go(lane.Task{
			Task: timeline.Task{Queue: timeline.CPU, Kind: timeline.Compute, Name: n.Kernel.Name, Cost: 1},
			Work: lane.Func(func(ctx context.Context) error { return p.compute(ctx, n) }),
		}, after...)
		computed[i] = before
	}
}

// move returns the task of moving a tensor.
func (p *Pager) move(id string, to memory.Tier, t timeline.Task) lane.Task {
	r, _ := p.Memory.Residence(id) // for the label only: it may have moved by the time the task runs
	from := memory.RAM
	if to == memory.RAM {
		from = memory.SSD
		if r.Backing == memory.BackingVRAMHandle {
			from = memory.VRAM
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
