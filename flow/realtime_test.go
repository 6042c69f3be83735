package flow_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// gatedPlans are the plans of testdata, in which an input has a reader that takes each block in place and one that waits
// behind a gate, and the first of them with every other kind of gate.
func gatedPlans(t *testing.T) map[string]string {
	t.Helper()
	plans := map[string]string{}
	for _, name := range []string{"host", "tempo"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = string(b)
	}
	for _, kind := range []string{"transport", "device", "modulation"} {
		plans[kind] = strings.Replace(plans["host"], `"kind":"host"`, fmt.Sprintf(`"kind":%q`, kind), 1)
	}
	plans["thermal"] = strings.Replace(strings.Replace(plans["host"], `"kind":"host"`, `"kind":"thermal"`, 1), `"gain":0.5`, `"gain":0.5,"thermo.heat":1`, 1)
	plans["thermal"] = strings.Replace(plans["thermal"], `"gates"`, `"heat_budget_joules_per_second":1,"gates"`, 1)
	plans["asked"] = strings.Replace(plans["host"], `"type":"Gain","params":{"gain":0.5}`, `"type":"AsyncResample","params":{"ratio":1}`, 1)
	return plans
}

// TestGateInRealTime: a channel whose other reader waits behind a gate, however long, keeps no neighbour waiting by Step.
// With room reserved for the stream all frames are those of Block; without, the reader behind the gate gets silence for
// what was overwritten, events say so, and its stream has its length.
func TestGateInRealTime(t *testing.T) {
	t.Parallel()
	const blocks, size = 1500, 64
	x := make([]float32, blocks*size)
	for i := range x {
		x[i] = float32(i + 1)
	}
	for name, text := range gatedPlans(t) {
		for _, reserved := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", reserved), func(t *testing.T) {
				t.Parallel()
				p, err := graph.Parse([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				stream := func(live bool) (map[string][]float32, []string, *flow.Session[float32]) {
					s, err := flow.New[float32](p, flow.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if reserved {
						if err := s.Reserve(blocks); err != nil {
							t.Fatal(err)
						}
					}
					if name != "tempo" && name != "thermal" {
						for k := range int64(20) {
							if err := s.OpenGate(3, blocks-100+k); err != nil {
								t.Fatal(err)
							}
						}
					}
					return streamed(t, s, x, blocks, live), events(s), s
				}
				got, told, s := stream(true)
				want, none, _ := stream(false)
				if !slices.Equal(got["a"], want["a"]) || !slices.Equal(got["n"], want["n"]) || len(none) > 0 || len(got["b"]) != len(x) || !slices.Equal(want["b"], x) {
					t.Fatalf("a takes %d frames of %d, b %d; events %v", len(got["a"]), len(want["a"]), len(got["b"]), none)
				}
				if reserved {
					if !slices.Equal(got["b"], x) || len(told) > 0 || s.Metrics().LostBlocks > 0 {
						t.Errorf("b has other frames; %d blocks are lost; events %v", s.Metrics().LostBlocks, told[:min(1, len(told))])
					}
					return
				}
				silent := 0
				for i, v := range got["b"] {
					if v == 0 {
						silent++
					} else if v != x[i] {
						t.Fatalf("frame %d of b is %v, not %v", i, v, x[i])
					}
				}
				if silent == 0 || silent > len(x)/2 || len(told) == 0 || !strings.Contains(told[0], "frames of edges[2] are silent") || s.Metrics().LostBlocks == 0 {
					t.Errorf("%d of %d frames of b are silent; %d blocks are lost; events %v", silent, len(x), s.Metrics().LostBlocks, told[:min(1, len(told))])
				}
			})
		}
	}
}

// streamed feeds a session's input "in", by Step or by Block, drains it, and returns what its probes take, and as "n" how
// many frames the probe "a" has after each block.
func streamed(t *testing.T, s *flow.Session[float32], x []float32, blocks int, live bool) map[string][]float32 {
	t.Helper()
	t.Cleanup(s.Close)
	step, got := s.Step(), map[string][]float32{}
	collect := func() {
		for _, name := range []string{"a", "b"} {
			y, err := s.Probe(name)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = append(got[name], y.Data[:y.N]...)
		}
	}
	in, err := s.Input("in")
	if err != nil {
		t.Fatal(err)
	}
	for k := range blocks {
		copy(in.Data, x[k*in.N:])
		if live {
			if code := step(); code != graph.Success {
				t.Fatalf("block %d: %v", k, code)
			}
		} else if err := s.Block(); err != nil {
			t.Fatal(err)
		}
		collect()
		got["n"] = append(got["n"], float32(len(got["a"])))
	}
	for _, o := range s.Occupancies() {
		if o.Used > o.Capacity {
			t.Errorf("%d frames in a channel for %d", o.Used, o.Capacity)
		}
	}
	for moved := true; moved; {
		if moved, err = s.Drain(); err != nil {
			t.Fatal(err)
		}
		collect()
	}
	return got
}

// events are the reasons of a session's events.
func events[F node.Float](s *flow.Session[F]) (all []string) {
	for e := range s.Events() {
		all = append(all, e.Reason())
	}
	return all
}

// TestTrimBeforeGate: a node with pdc trim drops all of its first frames in blocks that are shorter, also if only readers
// behind gates take what it gives.
func TestTrimBeforeGate(t *testing.T) {
	t.Parallel()
	plan := strings.Replace(string(sketch(t, "x Input; n Delay declared_delay=8 pdc=trim delay=8 max_delay=20; o Probe; x -> n; n -> o synchrony_gates=[4]")),
		`"edges"`, `"gates":[{"id":4,"kind":"tempo","period_frames":3}],"edges"`, 1)
	x := noise[float64](rand.New(rand.NewPCG(8, 8)), 1, 1, 200)
	for _, block := range []int{5, 8, 40} {
		s := session[float64](t, []byte(plan), flow.Options{BlockFrames: block}, nil)
		out, err := s.Run(map[string]node.Tensor[float64]{"x": x}, 200/block)
		if err != nil || !slices.Equal(out["o"].Data, x.Data[:192]) {
			t.Errorf("in blocks of %d: %d frames, or other ones: %v", block, out["o"].N, err)
		}
	}
}
