package graph_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

// TestBlockFrames: without a block size, Link takes the first from 64 on with
// which every node has whole tokens; with a wrong one, the error names it.
func TestBlockFrames(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		hop, down := 1+r.IntN(300), 1+r.IntN(5)
		p, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [{"name": "x", "type": "Input"}, {"name": "d", "type": "Downsample", "params": {"factor": %d}},
			{"name": "m", "type": "LogMel", "params": {"hop": %d}}, {"name": "y", "type": "Probe"}],
			"edges": [{"source": "x", "target": "d"}, {"source": "d", "target": "m"}, {"source": "m", "target": "y"}]}`, down, hop))
		if err != nil {
			t.Fatal(err)
		}
		want := 64
		for want%(hop*down) != 0 {
			want++
		}
		n, err := graph.BlockFrames(p, flow.ShippedTypes())
		l, linking := graph.Link(p, flow.ShippedTypes(), graph.Options{})
		if err != nil || linking != nil || n != want || l.BlockFrames != want {
			t.Fatalf("hop %d, factor %d: %d frames, want %d; %v, %v", hop, down, n, want, err, linking)
		}
		if _, err = graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: hop*down*3 + 1}); hop*down > 1 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf(" %d, %d, ", hop*down, 2*hop*down))) {
			t.Fatalf("hop %d, factor %d: %v", hop, down, err)
		}
	}
}
