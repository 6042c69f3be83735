package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/flow"
	"atenia/flow/graph"

	"atenia/internal/golden"
)

func scheduleLink(t testing.TB, text string, frames int) *graph.Linked {
	t.Helper()
	p, err := graph.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: frames})
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return l
}

func of(t testing.TB, text string, frames int) *graph.Schedule {
	t.Helper()
	s, err := graph.NewSchedule(scheduleLink(t, text, frames))
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return s
}

// TestFirstFire: a hold of D frames keeps the reader back for ceil(D/F) blocks.
func TestFirstFire(t *testing.T) {
	t.Parallel()
	t.Run("A22", func(t *testing.T) {
		var first []int
		for _, d := range []int{0, 1, 63, 64, 65, 100, 128, 192, 193} {
			s := of(t, fmt.Sprintf(`{"nodes":[{"name":"x","type":"Input"},{"name":"o","type":"Probe"}],"edges":[{"source":"x","target":"o","delay_frames":%d}]}`, d), 64)
			first = append(first, s.Nodes[1].First)
			if e := s.Edges[0]; e.Capacity != e.Least || e.Least != (d+63)/64*64+64 || s.Nodes[1].Late != (graph.Rat{Num: int64(d), Den: 1}) {
				t.Errorf("hold %d: %+v", d, s)
			}
		}
		if !slices.Equal(first, []int{0, 1, 1, 1, 2, 2, 2, 3, 4}) {
			t.Errorf("first blocks %v", first)
		}
	})
}

// join is a source whose two ways to a mix differ by a hold of 100 frames.
const join = `{"nodes":[{"name":"x","type":"Input"},{"name":"a","type":"Gain"},{"name":"m","type":"Mix"},{"name":"o","type":"Probe"}],
	"edges":[{"source":"x","target":"a"},{"source":"a","target":"m.in0","delay_frames":100},{"source":"x","target":"m.in1"%s},{"source":"m","target":"o"}]}`

// TestDryPath: a path parallel to a hold needs capacity for the frames that wait.
func TestDryPath(t *testing.T) {
	t.Parallel()
	s := of(t, fmt.Sprintf(join, ""), 64)
	var least []int
	for _, e := range s.Edges {
		least = append(least, e.Least)
	}
	if !slices.Equal(least, []int{64, 192, 192, 64}) || s.Warmup != 2 || s.Nodes[3].First != 2 || s.Nodes[3].Late.String() != "100" || !s.Nodes[3].Sink {
		t.Errorf("capacities %v, %+v", least, s)
	}
	if of(t, fmt.Sprintf(join, `,"capacity_frames":192`), 64).Edges[2].Least != 192 {
		t.Error("a capacity that suffices is not taken over")
	}
	_, err := graph.NewSchedule(scheduleLink(t, fmt.Sprintf(join, `,"capacity_frames":191`), 64))
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Path != "$.edges[2].capacity_frames" || !strings.Contains(e.Text, "want 192") {
		t.Errorf("a capacity that does not: %v", err)
	}
}

// TestLoops: a cycle runs in sub-blocks of its prefill, and one whose tokens
// are larger than that is a deadlock.
func TestLoops(t *testing.T) {
	t.Parallel()
	const loop = `{"nodes":[{"name":"x","type":"Input"},{"name":"m","type":"Mix"},{"name":"d","type":"Downsample"},{"name":"u","type":"Upsample"},{"name":"o","type":"Probe"}],
		"edges":[{"source":"x","target":"m.in0"},{"source":"m","target":"d"},{"source":"d","target":"u"},{"source":"u","target":"m.in1","delay_frames":%d},{"source":"u","target":"o"}]}`
	s := of(t, fmt.Sprintf(loop, 4), 16)
	if s.Warmup != 0 || len(s.Calls) != 1+3*4+1 || s.Edges[3].Least != 4 {
		t.Errorf("%+v", s)
	}
	_, err := graph.NewSchedule(scheduleLink(t, fmt.Sprintf(loop, 1), 16))
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Deadlock || !slices.Equal(e.Names, []string{"m", "d", "u"}) {
		t.Errorf("%v", err)
	}
}

// TestLongDelay: a delay too long to rehearse is an error, without a long run.
func TestLongDelay(t *testing.T) {
	t.Parallel()
	_, err := graph.NewSchedule(scheduleLink(t, `{"nodes":[{"name":"x","type":"Input"},{"name":"o","type":"Probe"}],"edges":[{"source":"x","target":"o","delay_frames":2147483647}]}`, 1))
	if !errors.Is(err, &graph.Error{Code: graph.Unsupported}) {
		t.Errorf("%v", err)
	}
}

// TestScheduleCases compares rehearsals with executions of golden graphs whose
// gates do not close: when nodes begin, and how much their channels held.
func TestScheduleCases(t *testing.T) {
	t.Parallel()
	var file struct{ Cases []json.RawMessage }
	golden.JSON(t, filepath.Join(golden.Family(t, "flow"), "graph.json"), &file)
	compared := 0
	for _, raw := range file.Cases {
		var c struct {
			Name        string
			Plan        json.RawMessage
			BlockFrames int `json:"block_frames"`
			Blocks      int
			Edges       []struct {
				Hold, Prefill int
				Rate          [2]int64
				Max           int `json:"max_occupancy"`
			}
			First map[string]*int `json:"first_fire"`
		}
		if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&c); err != nil {
			t.Fatal(err)
		}
		l := scheduleLink(t, string(c.Plan), c.BlockFrames)
		for i, e := range c.Edges {
			if x := &l.Edges[i]; x.Hold != e.Hold || x.Prefill != e.Prefill || x.Rate != (graph.Rat{Num: e.Rate[0], Den: e.Rate[1]}) {
				t.Errorf("%s: edge %d: %d %d %v, want %v", c.Name, i, x.Hold, x.Prefill, x.Rate, e)
			}
		}
		s, err := graph.NewSchedule(l)
		if e, ok := errors.AsType[*graph.Error](err); ok && e.Code == graph.Deadlock {
			for _, n := range e.Names {
				if c.First[n] != nil {
					t.Errorf("%s: %v, but %s begins in block %d", c.Name, err, n, *c.First[n])
				}
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if back, err := graph.ParseSchedule(s.String()); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s: %v\n%s", c.Name, err, s)
		}
		if slices.ContainsFunc(l.Plan.Gates, func(g graph.Gate) bool { return g.Kind != graph.Barrier }) {
			continue
		}
		compared++
		for _, n := range s.Nodes {
			if f := c.First[n.Name]; f != nil && *f != n.First || f == nil && n.First < c.Blocks {
				t.Errorf("%s: node %s begins in block %d", c.Name, n.Name, n.First)
			}
		}
		for i, e := range s.Edges {
			if e.Capacity < c.Edges[i].Max || c.Blocks > s.Warmup && e.Capacity != c.Edges[i].Max || e.Least > e.Capacity {
				t.Errorf("%s: edge %d: %+v, held %d in %d blocks", c.Name, i, e, c.Edges[i].Max, c.Blocks)
			}
		}
	}
	if compared == 0 {
		t.Error("no graph was compared")
	}
}

// BenchmarkOf rehearses a chain of 10,000 gains, every hundredth edge held back.
func BenchmarkOf(b *testing.B) {
	var nodes, edges strings.Builder
	nodes.WriteString("graph\nnode v0 Input\n")
	for v := 1; v <= 10000; v++ {
		fmt.Fprintf(&nodes, "node v%d Gain\n", v)
		fmt.Fprintf(&edges, "edge v%d -> v%d delay=%d\n", v-1, v, v%100/99*100)
	}
	p, err := graph.ParseText(nodes.String() + edges.String())
	if err != nil {
		b.Fatal(err)
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := graph.NewSchedule(l); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLongDelays: a delay of any length is scheduled, or refused, in bounded time.
func TestLongDelays(t *testing.T) {
	for _, c := range []struct {
		delay int
		ok    bool
	}{{1 << 10, true}, {1 << 21, true}, {1 << 24, false}, {1 << 30, false}} {
		p, err := graph.ParseText(fmt.Sprintf("graph\nnode x Input\nnode a Gain :gain=1\nnode b Gain :gain=1\nnode m Mix :inputs=2\nnode o Probe\n"+
			"edge x -> a delay=%d\nedge a -> b delay=%d\nedge x -> m.in0\nedge b -> m.in1\nedge m -> o", c.delay/2, c.delay/2))
		if err != nil {
			t.Fatal(err)
		}
		l, err := graph.Link(p, catalog{}, graph.Options{BlockFrames: 64})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = graph.NewSchedule(l)
		e, refused := errors.AsType[*graph.Error](err)
		if (err == nil) != c.ok || refused && e.Code != graph.Unsupported {
			t.Errorf("%d frames: %v", c.delay, err)
		}
		t.Log(c.delay, time.Since(start))
	}
}
