package route

import (
	"context"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
)

// A Loop runs a graph once for each snapshot and offloads after each run.
type Loop struct {
	Graph    *Graph
	Timeline *lane.Timeline
	Memory   *memory.Manager
	Offload  *memory.Offload
	GPU      bool    // there is a device to compute on
	Decider  Decider // nil: decisions are made and not written down
}

// A Decider makes the decisions of a [Loop]. One that writes them down is in
// package replay.
type Decider interface {
	At(tick uint64) // begins a tick
	Graph(g *Graph, m *memory.Manager, s memory.Snapshot, gpu bool) GraphPlacement
	// Watch returns a submitter that passes tasks to q and learns of every route.
	Watch(q lane.Submitter, s memory.Snapshot, gpu bool) lane.Submitter
	Offload(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload
}

// A decider decides and writes nothing down.
type decider struct{ tick uint64 }

func (d *decider) At(tick uint64) { d.tick = tick }

func (*decider) Graph(g *Graph, m *memory.Manager, s memory.Snapshot, gpu bool) GraphPlacement {
	return g.PlaceLive(m, s, gpu)
}

func (*decider) Watch(q lane.Submitter, _ memory.Snapshot, _ bool) lane.Submitter { return q }

func (d *decider) Offload(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	return o.PlanWithTick(s, ids, m, d.tick)
}

// A Tick records where the nodes were planned to run.
type Tick struct {
	Tick uint64 `json:"tick"`
	GraphPlacement
}

// Run does one [Loop.Tick] for each snapshot, which may offload every tensor of
// the graph. An offload error ends the loop after its tick; so does the end of
// ctx.
func (l *Loop) Run(ctx context.Context, snapshots []memory.Snapshot) ([]Tick, error) {
	ticks := make([]Tick, 0, len(snapshots))
	for i, s := range snapshots {
		t, _, err := l.Tick(ctx, uint64(i), s, l.Graph.Tensors())
		ticks = append(ticks, t)
		if err != nil {
			return ticks, fmt.Errorf("tick %d: %w", i, err)
		}
	}
	return ticks, nil
}

// Tick routes the graph in a snapshot of pressures, offloads of the named
// tensors, and writes to the timeline:
//
//	TICK_START tick=0
//	ENQUEUE …, RUN …                            of every node
//	OFFLOAD_PLAN tick=0 actions=1 reason=…
//	OFFLOAD_APPLY tick=0 skipped|ok|error=…     skipped when there is no action
//	TICK_END tick=0
func (l *Loop) Tick(ctx context.Context, tick uint64, s memory.Snapshot, ids []string) (Tick, memory.Applied, error) {
	if l.Decider == nil {
		l.Decider = &decider{}
	}
	l.Decider.At(tick)
	t := Tick{tick, l.Decider.Graph(l.Graph, l.Memory, s, l.GPU)}
	l.Timeline.Linef("TICK_START tick=%d", tick)
	_, err := l.Graph.Enqueue(ctx, l.Decider.Watch(l.Timeline, s, l.GPU), l.Memory, s, l.GPU)
	l.Timeline.Run()
	if err != nil {
		return t, memory.Applied{}, err
	}
	p := l.Decider.Offload(l.Offload, s, ids, l.Memory)
	l.Timeline.Linef("OFFLOAD_PLAN tick=%d actions=%d reason=%s", tick, len(p.Actions), p.Reason)
	done, err := l.Offload.Apply(ctx, p, l.Memory)
	switch {
	case len(p.Actions) == 0:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d skipped", tick)
	case err != nil:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d error=%v", tick, err)
	default:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d ok", tick)
	}
	l.Timeline.Linef("TICK_END tick=%d", tick)
	return t, done, err
}
