package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// TestStarved: a cycle with too little prefill is told, once, with an advice that helps; what is outside of it runs.
func TestStarved(t *testing.T) {
	t.Parallel()
	plan := func(delay int) string {
		return fmt.Sprintf(`{"nodes":[{"name":"x","type":"Input"},{"name":"m","type":"Mix"},{"name":"u","type":"Upsample","params":{"tier":60}},
			{"name":"d","type":"Downsample","params":{"tier":60}},{"name":"out","type":"Probe"},{"name":"dry","type":"Probe"}],
			"edges":[{"source":"x","target":"m.in0"},{"source":"m","target":"u"},{"source":"u","target":"d","delay_frames":%d},
			{"source":"d","target":"m.in1"},{"source":"m","target":"out"},{"source":"x","target":"dry"}]}`, delay)
	}
	for delay, starves := range map[int]bool{1: true, 2: false} {
		p, err := graph.Parse([]byte(plan(delay)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New[float64](p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Run(map[string]node.Tensor[float64]{"x": {Data: make([]float64, 640), B: 1, C: 1, N: 640}}, 10)
		if err != nil {
			t.Fatal(err)
		}
		events := slices.Collect(s.Events())
		if starves != (len(events) == 1) || starves != (got["out"].N == 0) || got["dry"].N != 640 {
			t.Errorf("delay %d: %d frames, events %v", delay, got["out"].N, events)
		}
		for _, e := range events {
			if e.Kind != Starved || s.procs[e.Node].Name != "d" || !strings.HasSuffix(e.Reason(), "edges[2] has fewer frames than it needs at once: set its delay_frames to at least 2") {
				t.Errorf("%+v: %s", e, e.Reason())
			}
		}
	}
}
