package flow

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/await"
)

// drawings returns how many random graphs a test runs: ATENIA_GRAPHS, or as many as take a few seconds.
func drawings() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ATENIA_GRAPHS"), 10, 32); err == nil && n > 0 {
		return n
	}
	switch {
	case testing.Short():
		return 12
	case await.Long():
		return 60
	}
	return 14
}

// TestRandomGraphs: graphs of everything that changes when a node fires give the bytes of the reference, on both paths,
// by Block and by Step, in channels that do not grow, and report no fault.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	types := append(flowtest.Types(), ShippedTypes()...)
	runs, unlinked := 0, 0
	for seed := range drawings() {
		t.Run(fmt.Sprint("graph ", seed), func(t *testing.T) {
			g := flowtest.Draw(seed)
			if seed%2 == 0 {
				runs += randomGraph[float32](t, g, types, seed, &unlinked)
			} else {
				runs += randomGraph[float64](t, g, types, seed, &unlinked)
			}
		})
	}
	if runs == 0 || unlinked > int(drawings()/4) {
		t.Errorf("%d runs, %d graphs that cannot be linked", runs, unlinked)
	}
}

func randomGraph[F node.Float](t *testing.T, g *flowtest.Graph, types node.Table, seed uint64, unlinked *int) (runs int) {
	plan, err := graph.Parse([]byte(g.Text))
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Text)
	}
	warm := 40 + 2000/g.BlockFrames
	blocks := warm + 120
	var want map[string][][]F
	for _, o := range []Options{{}, {DisableStatic: true}, {Threads: 2, eager: true}, {Threads: 4, eager: true}, {DisableFusion: true, Scan: ScanAll}, {Schedule: seed + 1}} {
		o.BlockFrames, o.Catalog = g.BlockFrames, types
		s, err := New[F](plan, o)
		if errors.Is(err, &graph.Error{Code: graph.Deadlock}) {
			*unlinked++
			return runs
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, g.Text)
		}
		if want == nil {
			if want, err = flowtest.Reference(s.Linked(), types, flowtest.Streams[F](g, blocks), blocks, seed); err != nil {
				t.Fatal(err)
			}
		}
		run := flowtest.Run{Warmup: warm, Blocks: blocks, Step: (o.DisableStatic || o.DisableFusion || o.Threads == 0 && seed%3 == 0) && !g.Slow && !g.Limited,
			Rooms: func() (all []int) {
				for _, x := range s.Occupancies() {
					all = append(all, x.Capacity)
				}
				return all
			},
			Faults: func() (all []string) {
				for e := range s.Events() {
					if e.Kind != Enlarged || !g.Limited {
						all = append(all, fmt.Sprintf("%+v", e))
					}
				}
				return all
			}}
		flowtest.Check(t, g, s, run, want)
		s.Close()
		if runs++; t.Failed() {
			t.Fatalf("with static %v, %d threads, schedule %d, step %v", !o.DisableStatic, o.Threads, o.Schedule, run.Step)
		}
	}
	return runs
}
