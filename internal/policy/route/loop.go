package route

import (
	"context"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/memory/timeline"
)

// A Loop runs a graph once for each snapshot and offloads after each run.
type Loop struct {
	Graph    *Graph
	Timeline *timeline.Timeline
	Memory   *memory.Manager
	Offload  *memory.Offload
	GPU      bool // there is a device to compute on
}

// A Tick records where the nodes were planned to run.
type Tick struct {
	Tick uint64 `json:"tick"`
	GraphPlacement
}

// Run does one tick for each snapshot and writes to the timeline:
//
//	TICK_START tick=0
//	ENQUEUE …, RUN …                            of every node
//	OFFLOAD_PLAN tick=0 actions=1 reason=…
//	OFFLOAD_APPLY tick=0 skipped|ok|error=…     skipped when there is no action
//	TICK_END tick=0
//
// An offload error ends the loop after its tick; so does the end of ctx.
func (l *Loop) Run(ctx context.Context, snapshots []memory.Snapshot) ([]Tick, error) {
	ticks := make([]Tick, 0, len(snapshots))
	for i, s := range snapshots {
		tick := uint64(i)
		ticks = append(ticks, Tick{tick, l.Graph.PlaceLive(l.Memory, s, l.GPU)})
		if err := l.tick(ctx, tick, s); err != nil {
			return ticks, fmt.Errorf("tick %d: %w", tick, err)
		}
	}
	return ticks, nil
}

func (l *Loop) tick(ctx context.Context, tick uint64, s memory.Snapshot) error {
	l.Timeline.Linef("TICK_START tick=%d", tick)
	_, err := l.Graph.Enqueue(ctx, l.Timeline, l.Memory, s, l.GPU)
	l.Timeline.Run()
	if err != nil {
		return err
	}
	p := l.Offload.PlanWithTick(s, l.Graph.Tensors(), l.Memory, tick)
	l.Timeline.Linef("OFFLOAD_PLAN tick=%d actions=%d reason=%s", tick, len(p.Actions), p.Reason)
	_, err = l.Offload.Apply(ctx, p, l.Memory)
	switch {
	case len(p.Actions) == 0:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d skipped", tick)
	case err != nil:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d error=%v", tick, err)
	default:
		l.Timeline.Linef("OFFLOAD_APPLY tick=%d ok", tick)
	}
	l.Timeline.Linef("TICK_END tick=%d", tick)
	return err
}
