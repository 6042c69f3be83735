package flowtest

import (
	"fmt"
	"runtime"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

// A session is a session of package flow, as [Check] drives it.
type session[F node.Float] interface {
	Block() error
	Step() func() graph.Code
	Drain() (bool, error)
	Input(name string) (node.Tensor[F], error)
	Probe(name string) (node.Tensor[F], error)
	OpenGate(id int, blocks ...int64) error
	Waiting(input string) (bool, error)
	Offer(input string) error
	Finish(part graph.Rat) error
}

// A Run says how a session runs, and how it is examined.
type Run struct {
	Warmup int             // blocks by Block: the channels take their size; 0: in real time from the start
	Blocks int             // in total
	Rest   int             // base frames after them, less than a block
	Step   bool            // blocks after the warm-up by Step, as in real time
	Rooms  func() []int    // the capacities of the channels
	Faults func() []string // what the session reported
}

// Streams draws that many frames of a graph's Inputs, row by row. None is zero or nearly so.
func Streams[F node.Float](g *Graph, frames int) map[string][][]F {
	all := map[string][][]F{}
	for i, name := range g.Inputs {
		rows := make([][]F, g.Batches*g.Channels)
		for r := range rows {
			x := make([]F, frames)
			for k := range x {
				h := uint32(k+1)*2654435761 + uint32(i)*40503 + uint32(r)*7919
				h ^= h >> 15
				h *= 2246822519
				x[k] = F(float64(h>>8)/(1<<23)-1) + 1e-3
			}
			rows[r] = x
		}
		all[name] = rows
	}
	return all
}

// Check runs a session and compares what its probes take with want. The channels may not grow after the warm-up,
// unless a gate starves them and the session runs by Block, and nothing may be reported: no fault is unknown, and none is
// expected.
func Check[F node.Float](t *testing.T, g *Graph, s session[F], run Run, want map[string][][]F) {
	t.Helper()
	inputs, got, fed := Streams[F](g, run.Blocks*g.BlockFrames+run.Rest), map[string][][]F{}, map[string]int{}
	feed := func(ended bool) {
		for _, name := range g.Inputs {
			held, err := s.Waiting(name)
			if err != nil {
				t.Fatal(err)
			}
			if k := fed[name]; !held && k*g.BlockFrames < run.Blocks*g.BlockFrames+run.Rest {
				in, err := s.Input(name)
				if err != nil {
					t.Fatal(err)
				}
				for r, row := range inputs[name] {
					copy(in.Row(r), row[k*in.N:])
				}
				fed[name]++
				if ended {
					if err := s.Offer(name); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	collect := func() {
		for _, name := range g.Probes {
			x, err := s.Probe(name)
			if err != nil {
				t.Fatal(err)
			}
			if got[name] == nil {
				got[name] = make([][]F, x.B*x.C)
			}
			for r := range got[name] {
				got[name][r] = append(got[name][r], x.Row(r)...)
			}
		}
	}
	var step func() graph.Code
	if run.Step {
		step = s.Step()
	}
	var rooms []int
	for k := range run.Blocks {
		if g.Gated && int64(k) >= g.Shut {
			if err := s.OpenGate(hostGate, int64(k)); err != nil {
				t.Fatal(err)
			}
		}
		if k == run.Warmup && (k > 0 || run.Step) {
			rooms = run.Rooms()
		}
		feed(false)
		if run.Step && k >= run.Warmup {
			runtime.LockOSThread() // as an executor in real time
			before := cpu.FlushDenormals()
			code := step()
			cpu.SetFloatEnv(before)
			runtime.UnlockOSThread()
			if code != graph.Success {
				t.Fatalf("block %d of %d: %v", k, run.Blocks, code)
			}
		} else if err := s.Block(); err != nil {
			t.Fatalf("block %d of %d: %v", k, run.Blocks, err)
		}
		collect()
	}
	for _, name := range g.Probes {
		if run.Blocks == 0 || want[name] == nil {
			continue
		}
		if n := len(got[name][0]); 2*n < len(want[name][0]) && !g.Slow && !g.AtEnd {
			t.Errorf("%s took %d frames of %d while blocks ran: the others came with the drain", name, n, len(want[name][0]))
		}
	}
	now := run.Rooms()
	for i := range rooms {
		if now[i] != rooms[i] && (run.Step || !g.Slow) {
			t.Errorf("the channel of edge %d has room for %d frames after %d blocks, %d after %d", i, rooms[i], run.Warmup, now[i], run.Blocks)
		}
	}
	feed(false)
	if err := s.Finish(graph.Rat{Num: int64(run.Rest), Den: 1}); err != nil {
		t.Fatal(err)
	}
	for moved := true; moved; feed(true) {
		var err error
		if moved, err = s.Drain(); err != nil {
			t.Fatal(err)
		}
		collect()
	}
	for _, name := range g.Probes {
		if want[name] == nil { // it takes nothing
			want[name] = make([][]F, len(got[name]))
		}
		if len(got[name]) != len(want[name]) {
			t.Fatalf("%s has %d rows, %d by the reference", name, len(got[name]), len(want[name]))
		}
		for r, x := range got[name] {
			if at, same := differ(x, want[name][r]); !same {
				t.Errorf("%s, row %d took %d frames, %d by the reference; they differ from frame %d on", name, r, len(x), len(want[name][r]), at)
			}
		}
	}
	for _, f := range run.Faults() {
		t.Error(f)
	}
	if t.Failed() {
		t.Log(fmt.Sprintf("blocks of %d frames, host gate shut for %d\n", g.BlockFrames, g.Shut) + g.Text)
	}
}

// differ returns the first frame at which two streams differ.
func differ[F node.Float](a, b []F) (int, bool) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i, false
		}
	}
	return min(len(a), len(b)), len(a) == len(b)
}
