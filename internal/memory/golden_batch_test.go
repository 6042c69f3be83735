package memory_test

import (
	"reflect"
	"slices"
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
	l := decide.RouteLoop{Graph: goldenGraph(in.Nodes), Timeline: timeline, Memory: m.Manager, Offload: memory.NewOffload(in.Config), On: decide.Executors{GPU: in.GPU}}
	ticks, err := make([]decide.RouteTick, 0, len(in.Snapshots)), error(nil)
	for i := 0; i < len(in.Snapshots) && err == nil; i++ { // every tensor of the graph may move
		var done decide.Ticked
		done, err = l.Tick(t.Context(), uint64(i), in.Snapshots[i].snapshot(), tensorsOf(l.Graph))
		ticks = append(ticks, done.Planned)
	}
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

// tensorsOf returns the ids of a graph's tensors in the order of their first use.
func tensorsOf(g *decide.RouteGraph) (ids []string) {
	for _, n := range g.Nodes() {
		for _, id := range n.Tensors {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
