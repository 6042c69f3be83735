package decide

import (
	"context"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
)

// A RouteLoop runs a graph once for each snapshot and offloads after each run.
type RouteLoop struct {
	Graph    *RouteGraph
	Timeline *lane.Timeline
	Memory   *memory.Manager
	Offload  *memory.Offload
	On       Executors
	Decider  Decider // nil: decisions are made and not written down
}

// A Decider makes the decisions of a [RouteLoop]. One that writes them down is in
// package replay.
type Decider interface {
	At(tick uint64) // begins a tick
	Graph(g *RouteGraph, m *memory.Manager, s memory.Snapshot, on Executors) GraphPlacement
	// Watch returns a submitter that passes tasks to q and learns of every route.
	Watch(q lane.Submitter, s memory.Snapshot, on Executors) lane.Submitter
	Offload(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload
}

// A decider decides and writes nothing down.
type decider struct{ tick uint64 }

func (d *decider) At(tick uint64) { d.tick = tick }

func (*decider) Graph(g *RouteGraph, m *memory.Manager, s memory.Snapshot, on Executors) GraphPlacement {
	return g.PlaceLive(m, s, on)
}

func (*decider) Watch(q lane.Submitter, _ memory.Snapshot, _ Executors) lane.Submitter { return q }

func (d *decider) Offload(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	return o.PlanWithTick(s, ids, m, d.tick)
}

// A RouteTick records where the nodes were planned to run.
type RouteTick struct {
	Tick uint64 `json:"tick"`
	GraphPlacement
}

// A Ticked is what a tick did: where the nodes were planned to run, where they do after
// their tensors were moved, and what was offloaded.
type Ticked struct {
	Planned RouteTick
	Routed  []Bundle // of the nodes, in order
	Done    memory.Applied
}

// Tick routes the graph in a snapshot of pressures, offloads of the named
// tensors, and writes to the timeline:
//
//	TICK_START tick=0
//	ENQUEUE …, RUN …                            of every node
//	OFFLOAD_PLAN tick=0 actions=1 reason=…
//	OFFLOAD_APPLY tick=0 skipped|ok|error=…     skipped when there is no action
//	TICK_END tick=0
func (l *RouteLoop) Tick(ctx context.Context, tick uint64, s memory.Snapshot, ids []string) (t Ticked, err error) {
	if l.Decider == nil {
		l.Decider = &decider{}
	}
	l.Decider.At(tick)
	t.Planned = RouteTick{tick, l.Decider.Graph(l.Graph, l.Memory, s, l.On)}
	l.Timeline.Linef("TICK_START tick=%d", tick)
	t.Routed, err = l.Graph.Enqueue(ctx, l.Decider.Watch(l.Timeline, s, l.On), l.Memory, s, l.On)
	l.Timeline.Run()
	if err != nil {
		return t, err
	}
	p := l.Decider.Offload(l.Offload, s, ids, l.Memory)
	l.Timeline.Linef("OFFLOAD_PLAN tick=%d actions=%d reason=%s", tick, len(p.Actions), p.Reason)
	t.Done, err = l.Offload.Apply(ctx, p, l.Memory)
	switch {
	case len(p.Actions) == 0:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d skipped", tick)
	case err != nil:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d error=%v", tick, err)
	default:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d ok", tick)
	}
	l.Timeline.Linef("TICK_END tick=%d", tick)
	return t, err
}
