//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// TestRandomGraphs: nodes in C among everything that changes when a node fires give the bytes of the reference, in this
// process and in a separate one.
func TestRandomGraphs(t *testing.T) {
	drawings := uint64(24)
	switch {
	case testing.Short():
		drawings = 8
	case await.Long():
		drawings = 60
	}
	here := slices.Concat(flowtest.Types(), template(t).Types(), open(t, amp.Options{}).Types(), flow.ShippedTypes())
	_, smooth := start(t, isolateTemplate(t), amp.ProcessConfig{})
	there := slices.Concat(smooth, here)
	for seed := range drawings {
		t.Run(fmt.Sprint("graph ", seed), func(t *testing.T) {
			g := flowtest.Draw(seed, `"type": "Smooth", "params": {"a": 0.1}`, `"type": "Smooth", "supports_v2": true, "params": {"a": 0.25}`,
				`"type": "Gain.c", "supports_v2": true, "params": {"gain": 0.8}`)
			if seed%2 == 0 {
				randomGraph[float32](t, g, here, there, seed)
			} else {
				randomGraph[float64](t, g, here, there, seed)
			}
		})
	}
}

func randomGraph[F node.Float](t *testing.T, g *flowtest.Graph, here, there node.Table, seed uint64) {
	p, err := graph.Parse([]byte(g.Text))
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Text)
	}
	warm := 40 + 2000/g.BlockFrames
	blocks := warm + 100
	var want map[string][][]F
	for i, types := range []node.Table{here, there} {
		s, err := flow.New[F](p, flow.Options{BlockFrames: g.BlockFrames, Catalog: types})
		if errors.Is(err, &graph.Error{Code: graph.Deadlock}) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, g.Text)
		}
		if want == nil {
			if want, err = flowtest.Reference(s.Linked(), here, flowtest.Streams[F](g, blocks*g.BlockFrames), blocks*g.BlockFrames, seed); err != nil {
				t.Fatal(err)
			}
		}
		for e := range s.Events() {
			g.Slow = g.Slow || e.Kind == flow.Starved // its frames come at the end
		}
		flowtest.Check(t, g, s, flowtest.Run{Warmup: warm * int(seed/2%2), Blocks: blocks, Step: !g.Limited && i == 0,
			Rooms: func() (all []int) {
				for _, x := range s.Occupancies() {
					all = append(all, x.Capacity)
				}
				return all
			},
			Faults: func() (all []string) {
				for e := range s.Events() {
					if e.Kind != flow.Enlarged || !g.Limited {
						all = append(all, fmt.Sprintf("%+v", e))
					}
				}
				return all
			}}, want)
		if s.Close(); t.Failed() {
			t.FailNow()
		}
	}
}
