package memory_test

import (
	"reflect"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["batch"] = runBatch }

func runBatch(t *testing.T, c *goldenCase) {
	var in struct {
		Advanced  bool `json:"advanced_streams_supported"`
		Config    memory.OffloadConfig
		Memory    goldenMemory
		Nodes     []goldenNode
		GPU       bool `json:"gpu_available"`
		Snapshots []pressures
	}
	var want struct {
		Timeline []string
		Ticks    []decide.RouteTick `json:"tick_results"`
		Tensors  []wantTensor
		Ledger   wantLedger
	}
	c.decode(t, &in, &want)
	m := in.Memory.build(t)
	timeline, lines := goldenTimeline(in.Advanced)
	l := decide.RouteLoop{Graph: goldenGraph(in.Nodes), Timeline: timeline, Memory: m.Manager, Offload: memory.NewOffload(in.Config), GPU: in.GPU}
	snapshots := make([]memory.Snapshot, len(in.Snapshots))
	for i, s := range in.Snapshots {
		snapshots[i] = s.snapshot()
	}
	ticks, err := l.Run(t.Context(), snapshots)
	if fails := strings.Contains(strings.Join(want.Timeline, "\n"), "error=*"); (err != nil) != fails {
		t.Errorf("error %v, want one: %v", err, fails)
	}
	if !reflect.DeepEqual(ticks, want.Ticks) {
		t.Errorf("ticks %+v, want %+v", ticks, want.Ticks)
	}
	checkLines(t, "timeline", *lines, want.Timeline)
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}
