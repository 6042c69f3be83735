package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

func init() { topics["schedule"] = runSchedule }

// runSchedule checks the results of the rehearsal.
func runSchedule(t *testing.T, c json.RawMessage) {
	switch kind := decode[struct{ Kind string }](t, c).Kind; kind {
	case "iteration":
		runIteration(t, c)
	case "hold":
		runHold(t, c)
	case "tempo":
		runTempo(t, c)
	case "link":
		runVerdict(t, c)
	default:
		t.Fatalf("no runner for kind %q", kind)
	}
}

// runIteration fires a graph of synchronous data flow for one iteration.
func runIteration(t *testing.T, c json.RawMessage) {
	want := decode[struct {
		Nodes      int
		Edges      []graph.Channel
		Capacity   []int
		Consistent bool
		Q, Fired   []int
		Deadlock   bool
		Blocked    []int
		LowerBound []int `json:"lower_bound"`
	}](t, c)
	for i, e := range want.Edges {
		if got := graph.MinCapacity(e.Produce, e.Consume, 0); got != want.LowerBound[i] {
			t.Errorf("edge %d: lower bound %d, want %d", i, got, want.LowerBound[i])
		}
	}
	got, err := graph.Iterate(want.Nodes, want.Edges, want.Capacity)
	if (err == nil) != want.Consistent {
		t.Fatalf("consistent %v, want %v: %v", err == nil, want.Consistent, err)
	}
	if err == nil && (!slices.Equal(got.Q, want.Q) || !slices.Equal(got.Fired, want.Fired) || got.Deadlock() != want.Deadlock || !slices.Equal(got.Blocked, want.Blocked)) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// runHold lets a reader wait for frames that are held back.
func runHold(t *testing.T, c json.RawMessage) {
	want := decode[struct {
		BlockFrames int `json:"block_frames"`
		Hold        int
		FirstFire   int   `json:"first_fire"`
		Readable    []int `json:"readable_if_idle"`
	}](t, c)
	p, err := graph.Parse(fmt.Appendf(nil, `{"nodes":[{"name":"x","type":"Input"},{"name":"o","type":"Probe"}],"edges":[{"source":"x","target":"o","delay_frames":%d}]}`, want.Hold))
	if err != nil {
		t.Fatal(err)
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: want.BlockFrames})
	if err != nil {
		t.Fatal(err)
	}
	s, err := graph.NewSchedule(l)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Nodes[1].First; got != want.FirstFire {
		t.Errorf("the reader begins in block %d, want %d", got, want.FirstFire)
	}
	for k, n := range want.Readable {
		if got := l.Edges[0].Readable(int64(k*want.BlockFrames), 0, false); got != int64(n) {
			t.Errorf("after %d blocks %d frames can be read, want %d", k, got, n)
		}
	}
}

// runTempo opens a gate for blocks that hold a multiple of its period.
func runTempo(t *testing.T, c json.RawMessage) {
	want := decode[struct {
		BlockFrames  int64 `json:"block_frames"`
		PeriodFrames int64 `json:"period_frames"`
		Open         []int
	}](t, c)
	for k, open := range want.Open {
		if got := graph.TempoOpen(want.PeriodFrames, want.BlockFrames, int64(k)); got != (open == 1) {
			t.Errorf("block %d: open %v", k, got)
		}
	}
}
