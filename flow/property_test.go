package flow

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// drawings returns how many random graphs a test runs: ATENIA_GRAPHS, which is 300 in .ci/run, or 20, and 5,000 in the nightly run.
func drawings() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ATENIA_GRAPHS"), 10, 32); err == nil && n > 0 {
		return n
	}
	switch {
	case testing.Short():
		return 12
	case await.Long():
		return 5000
	}
	return 20
}

// TestRandomGraphs: graphs of everything that changes when a node fires give the bytes of the reference, on both paths,
// by Block and by Step, from the start or after others, in blocks of other sizes, which the streams do not fill, behind gates that stay closed for long
// or open seldom, in channels that do not grow, and report no fault.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	types := append(flowtest.Types(), ShippedTypes()...)
	var steps, starved, unlinked atomic.Int64
	t.Cleanup(func() {
		if n := int64(drawings()); !t.Failed() && (steps.Load() < n || starved.Load() < n/100 || unlinked.Load() > n/4) {
			t.Errorf("%d runs in real time, %d with a starved cycle, %d graphs that cannot be linked", steps.Load(), starved.Load(), unlinked.Load())
		}
	})
	for seed := range drawings() {
		if drawings() < 48 { // a choice below is made by seed/16%3
			seed *= 3
		}
		t.Run(fmt.Sprint("graph ", seed), func(t *testing.T) {
			t.Parallel()
			g := flowtest.Draw(seed)
			if seed%2 == 0 {
				randomGraph[float32](t, g, types, seed, &steps, &starved, &unlinked)
			} else {
				randomGraph[float64](t, g, types, seed, &steps, &starved, &unlinked)
			}
		})
	}
}

func randomGraph[F node.Float](t *testing.T, g *flowtest.Graph, types node.Table, seed uint64, steps, starved, unlinked *atomic.Int64) {
	plan, err := graph.Parse([]byte(g.Text))
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Text)
	}
	warm := int(seed/2%2) * (40 + 2000/g.BlockFrames) // 0: in real time from the start
	blocks := max(warm+160, 3000/g.BlockFrames)
	var want map[string][][]F
	frames := blocks*g.BlockFrames + int(seed*7%uint64(g.BlockFrames)) // no whole number of blocks
	live := seed/4%2 == 0                                              // of the two sessions on the static path, one runs by Step
	for i, o := range []Options{{},
		[]Options{{DisableStatic: true}, {DisableFusion: true, Scan: ScanAll}}[seed/8%2],
		[]Options{{Threads: 2, eager: true}, {Threads: 4, eager: true}, {Schedule: seed + 1}}[seed/16%3],
		{}, {}, {}} {
		h, first := *g, warm
		switch i {
		case 3, 4: // up to four times larger or smaller
			h.BlockFrames = g.BlockFrames/4 + 1 + int(seed+uint64(37*i))%(4*g.BlockFrames)
		case 5: // the stream is a part of one, or of the second
			h.BlockFrames = frames - 10 + int(seed%20)
		}
		if i >= 3 {
			h.BlockFrames = (h.BlockFrames + g.Multiple - 1) / g.Multiple * g.Multiple
			first, h.Slow = 0, true
		}
		n := frames / h.BlockFrames
		o.BlockFrames, o.Catalog = h.BlockFrames, types
		s, err := New[F](plan, o)
		if errors.Is(err, &graph.Error{Code: graph.Deadlock}) {
			unlinked.Add(1)
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, g.Text)
		}
		if want == nil {
			if want, err = flowtest.Reference(s.Linked(), types, flowtest.Streams[F](g, frames), frames, seed); err != nil {
				t.Fatal(err)
			}
		}
		for e := range s.Events() {
			if e.Kind == Starved { // its frames come at the end
				h.Slow = true
				starved.Add(1)
			}
		}
		run := flowtest.Run{Warmup: first, Blocks: n, Rest: frames % h.BlockFrames, Step: (i == 1 || i == 0 && live || i == 3 && !live) && !g.Limited,
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
		flowtest.Check(t, &h, s, run, want)
		s.Close()
		if run.Step {
			steps.Add(1)
		}
		if t.Failed() {
			t.Fatalf("with static %v, %d threads, schedule %d, step %v from block %d", !o.DisableStatic, o.Threads, o.Schedule, run.Step, run.Warmup)
		}
	}
}
