package lane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"atenia/internal/memory/timeline"
)

// An Item is one tensor or one layer of a [Pipeline].
type Item struct {
	Name  string
	Bytes uint64
}

// Stages are the steps of an item. buffer, less than [PipelineConfig.Buffers],
// belongs to the item from Prefetch to the end of Compute. Prefetch and Move may
// be nil.
type Stages struct {
	Prefetch, Move, Compute func(ctx context.Context, item, buffer int) error
}

// A PipelineConfig configures a [Pipeline].
type PipelineConfig struct {
	Items   []Item
	Stages  Stages
	Buffers int // at least 2: one in use and one being filled
	Readers int // of the executor: concurrent prefetches; 0 means 2
}

// A Pipeline streams items through buffers:
//
//	prefetch(i) ─▶ move(i) ─▶ compute(i)     compute(i-1) ─▶ compute(i)
//	compute(i-1-d) ─▶ prefetch(i)            the buffer is free, the depth respected
//
// The depth d starts at Buffers-1 and then adapts to the measured times. A
// pipeline must not be used by two [Pipeline.Run] calls at a time.
type Pipeline struct {
	c        PipelineConfig
	x        *Executor
	names    [3][]string // of tasks, by stage and item
	stages   [3]func(ctx context.Context, item, buffer int) error
	works    [3]*stage
	order    []int    // items of the current Run
	computed []uint64 // ids of the last compute tasks, a ring buffer

	mu    sync.Mutex
	times [3]time.Duration // exponential means by stage
}

// The stages, in order.
const (
	prefetching = iota
	moving
	computing
)

// A stage does one step of a pipeline's items: arg is a position in the order.
type stage struct {
	p    *Pipeline
	kind int
}

// NewPipeline returns a pipeline on an executor.
func NewPipeline(x *Executor, c PipelineConfig) *Pipeline {
	c.Buffers = max(c.Buffers, 2)
	if c.Readers <= 0 {
		c.Readers = 2
	}
	p := &Pipeline{c: c, x: x, computed: make([]uint64, c.Buffers)}
	p.stages = [3]func(context.Context, int, int) error{c.Stages.Prefetch, c.Stages.Move, c.Stages.Compute}
	for s := range p.works {
		p.works[s] = &stage{p, s}
	}
	for s, verb := range [...]string{"prefetch:", "move:", "compute:"} {
		for _, it := range c.Items {
			p.names[s] = append(p.names[s], verb+it.Name)
		}
	}
	return p
}

// Depth returns how many items the next Run prefetches ahead of the current one.
func (p *Pipeline) Depth() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times[computing] == 0 {
		return p.c.Buffers - 1
	}
	return Depth(p.times[prefetching]+p.times[moving], p.times[computing], p.c.Readers, p.c.Buffers-1)
}

// Depth returns how many items to prefetch ahead: enough to hide the read time
// of one item, plus one against late reads, but no more than keep all readers
// busy, and at most most.
func Depth(io, compute time.Duration, readers, most int) int {
	d := most
	if compute > 0 && io/compute < time.Duration(most) {
		d = int((io+compute-1)/compute) + 1
	}
	return max(1, min(d, readers+1, most))
}

// Run streams the items in the given order; indices may repeat.
func (p *Pipeline) Run(ctx context.Context, order []int) error {
	for _, item := range order {
		if item < 0 || item >= len(p.c.Items) {
			return fmt.Errorf("the pipeline has items 0 to %d, not %d", len(p.c.Items)-1, item)
		}
	}
	p.order = order
	depth := p.Depth()
	return p.x.Run(ctx, func(g *Group) error {
		clear(p.computed)
		for i := range order {
			p.submit(g, i, depth)
		}
		return nil
	})
}

// submit submits the tasks of position i. Its buffer is free once the item
// Buffers positions earlier has been computed; because computations run in
// order, respecting the depth ensures that.
func (p *Pipeline) submit(g *Group, i, depth int) {
	n := len(p.computed)
	var free, before uint64
	if i > depth {
		free = p.computed[(i-1-depth)%n]
	}
	if i > 0 {
		before = p.computed[(i-1)%n]
	}
	id := free
	if p.stages[prefetching] != nil {
		id = g.Go(p.task(prefetching, timeline.SSDPrefetch, timeline.IO, i), id)
	}
	if p.stages[moving] != nil {
		id = g.Go(p.task(moving, timeline.CPU, timeline.Transfer, i), id)
	}
	p.computed[i%n] = g.Go(p.task(computing, timeline.CPU, timeline.Compute, i), id, before)
}

func (p *Pipeline) task(s int, q timeline.Queue, k timeline.TaskKind, i int) Task {
	item := p.order[i]
	return Task{
		Task:   timeline.Task{Queue: q, Kind: k, Name: p.names[s][item], Cost: 1},
		Tensor: p.c.Items[item].Name, Bytes: p.c.Items[item].Bytes,
		Work: p.works[s], Arg: i,
	}
}

// Do runs and times one stage of one item.
func (s *stage) Do(ctx context.Context, i int) error {
	p := s.p
	start := p.x.clock()
	err := p.stages[s.kind](ctx, p.order[i], i%p.c.Buffers)
	took := p.x.clock() - start
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times[s.kind] == 0 {
		p.times[s.kind] = took
	} else {
		p.times[s.kind] += (took - p.times[s.kind]) / 8
	}
	return err
}
