package flow

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// A relay is a session that goes on in a new one after some of its blocks, with other options.
type relay[F node.Float] struct {
	*Session[F]
	t       *testing.T
	next    func() *Session[F]
	cuts    []int // ascending
	blocks  int
	inputs  []string
	changes int
}

// change hands the state over, and what the host has fed to the next block.
func (r *relay[F]) change() {
	r.blocks++
	if len(r.cuts) == 0 || r.blocks != r.cuts[0] {
		return
	}
	r.cuts = r.cuts[1:]
	state, err := r.SaveState()
	if err != nil {
		r.t.Fatal(err)
	}
	s := r.next()
	if err := s.LoadState(state); err != nil {
		r.t.Fatal(err)
	}
	again, err := s.SaveState()
	if err != nil || string(again) != string(state) {
		r.t.Fatalf("a loaded state of %d bytes is saved as %d other ones: %v", len(state), len(again), err)
	}
	for _, name := range r.inputs {
		from, _ := r.Input(name)
		to, _ := s.Input(name)
		copy(to.Data, from.Data)
	}
	r.Close()
	r.Session = s
	r.changes++
}

func (r *relay[F]) Block() error {
	r.change()
	return r.Session.Block()
}

func (r *relay[F]) Drain() (bool, error) {
	r.change()
	return r.Session.Drain()
}

// TestSavedState: random graphs go on bit for bit in other sessions at random cuts, in the stream and in its tail.
func TestSavedState(t *testing.T) {
	t.Parallel()
	types := append(flowtest.Types(), ShippedTypes()...)
	changes := 0
	for seed := range drawings() {
		g := flowtest.Draw(seed + 1000)
		if seed%2 == 0 {
			changes += relayGraph[float32](t, g, types, seed)
		} else {
			changes += relayGraph[float64](t, g, types, seed)
		}
	}
	if changes < int(drawings()) {
		t.Errorf("%d changes in %d graphs", changes, drawings())
	}
}

func relayGraph[F node.Float](t *testing.T, g *flowtest.Graph, types node.Table, seed uint64) int {
	plan, err := graph.Parse([]byte(g.Text))
	if err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(seed, 7))
	open := func() (*Session[F], error) {
		return New[F](plan, Options{BlockFrames: g.BlockFrames, Catalog: types, DisableStatic: dice.IntN(2) == 0, DisableFusion: dice.IntN(2) == 0,
			Threads: 1 + dice.IntN(2), eager: true})
	}
	first, err := open()
	if errors.Is(err, &graph.Error{Code: graph.Deadlock}) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	blocks := 70 + 2000/g.BlockFrames
	want, err := flowtest.Reference(first.Linked(), types, flowtest.Streams[F](g, blocks*g.BlockFrames), blocks*g.BlockFrames, seed)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay[F]{Session: first, t: t, inputs: g.Inputs, next: func() *Session[F] {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
	for range 4 {
		r.cuts = append(r.cuts, 1+dice.IntN(blocks+4))
	}
	slices.Sort(r.cuts)
	r.cuts = slices.Compact(r.cuts)
	defer func() { r.Close() }()
	flowtest.Check(t, g, r, flowtest.Run{Blocks: blocks, Warmup: blocks, Rooms: func() []int { return nil }, Faults: func() []string { return nil }}, want)
	if t.Failed() {
		t.Fatalf("seed %d, %d changes", seed, r.changes)
	}
	return r.changes
}

// controlled is a plan whose parameters the host sets.
const controlled = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "low", "type": "Biquad", "params": {"f0": 900}},
	{"name": "hall", "type": "Delay", "params": {"delay": 37.5, "interpolation": "linear", "max_delay": 90}},
	{"name": "gate", "type": "Gain"}, {"name": "m", "type": "Meter", "params": {"hop": 48}}, {"name": "out", "type": "Probe"}, {"name": "rms", "type": "Probe"}],
	"edges": [{"source": "in", "target": "low"}, {"source": "low", "target": "hall"}, {"source": "hall", "target": "gate", "delay_frames": 21, "capacity_frames": 96},
	{"source": "gate", "target": "out"}, {"source": "in", "target": "m"}, {"source": "m.rms", "target": "rms"}]}`

func openControlled(t testing.TB, block int) *Session[float32] {
	t.Helper()
	plan, err := graph.Parse([]byte(controlled))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New[float32](plan, Options{BlockFrames: block})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSavedControl: parameters that the host has set, and tokens that wait for their blocks, go over with the state.
func TestSavedControl(t *testing.T) {
	t.Parallel()
	run := func(cut int) (out []float32, control string) {
		s := openControlled(t, 48)
		defer func() { s.Close() }()
		tokens := []ControlToken{{Block: 3, Node: "low", Param: "f0", Values: []float64{300}}, {Block: 9, Node: "gate", Param: "gain", Values: []float64{0.25, 4, 0.5, 3}}, {Block: 12, Node: "low", Param: "f0"}}
		if err := s.Play(tokens); err != nil {
			t.Fatal(err)
		}
		for k := range 20 {
			if k == cut {
				state, err := s.SaveState()
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				s = openControlled(t, 48)
				if err := s.LoadState(state); err != nil {
					t.Fatal(err)
				}
			}
			in, _ := s.Input("in")
			for i := range in.Data {
				in.Data[i] = float32((k*48+i)%17) - 8
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			x, _ := s.Probe("out")
			out = append(out, x.Row(0)...)
		}
		return out, fmt.Sprint(s.Control())
	}
	want, control := run(-1)
	for cut := range 20 {
		if got, c := run(cut); !slices.Equal(got, want) || c != control {
			t.Errorf("cut before block %d: %d frames, want %d; control %s, want %s", cut, len(got), len(want), c, control)
		}
	}
}

// TestSetAroundStatic: a parameter that is set on the dynamic path and set back in the very block in which the static
// one begins has its value there.
func TestSetAroundStatic(t *testing.T) {
	t.Parallel()
	run := func(back int64, o Options) (out []float32) {
		plan, err := graph.Parse([]byte(controlled))
		if err != nil {
			t.Fatal(err)
		}
		o.BlockFrames = 48
		s, err := New[float32](plan, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Play([]ControlToken{{Node: "low", Param: "f0", Values: []float64{300}}, {Block: back, Node: "low", Param: "f0"}}); err != nil {
			t.Fatal(err)
		}
		in, err := s.Input("in")
		if err != nil {
			t.Fatal(err)
		}
		for k := range 12 {
			for i := range in.Data {
				in.Data[i] = float32((k*48+i)%17) - 8
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			x, err := s.Probe("out")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, x.Row(0)...)
		}
		return out
	}
	for back := range int64(6) {
		want := run(back, Options{DisableStatic: true})
		for _, o := range []Options{{}, {DisableFusion: true}} {
			if got := run(back, o); !slices.Equal(got, want) {
				t.Errorf("set back in block %d, fused %v: the two paths differ", back, !o.DisableFusion)
			}
		}
	}
}

// TestForeignState: what is no state of the session leaves it as it was.
func TestForeignState(t *testing.T) {
	t.Parallel()
	s, other := openControlled(t, 48), openControlled(t, 96)
	defer s.Close()
	defer other.Close()
	if err := s.Block(); err != nil {
		t.Fatal(err)
	}
	good, err := s.SaveState()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.SaveState()
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 4
	newer := append([]byte("atenia.flow.state/3\n"), good[len(stateMagic):]...)
	for name, state := range map[string][]byte{"empty": nil, "cut off": good[:len(good)-1], "longer": append(slices.Clone(good), 0), "flipped": flipped, "foreign": foreign, "newer": newer} {
		if err := s.LoadState(state); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := s.SaveState(); err != nil || string(now) != string(good) {
			t.Errorf("%s: the session changed (%v)", name, err)
		}
	}
}

// FuzzLoadState: no bytes make a session panic, at once or in the blocks after. The digests are made right, so that the
// counts behind them are reached.
func FuzzLoadState(f *testing.F) {
	s := openControlled(f, 48)
	for range 3 {
		if err := s.Block(); err != nil {
			f.Fatal(err)
		}
		state, err := s.SaveState()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state[len(stateMagic)+2*sha256.Size:])
	}
	s.Close()
	f.Fuzz(func(t *testing.T, rest []byte) {
		s := openControlled(t, 48)
		defer s.Close()
		_ = s.LoadState(rest) // as it is
		id, err := s.identity()
		if err != nil {
			t.Fatal(err)
		}
		body := append(id[:], rest...)
		sum := sha256.Sum256(body)
		if err := s.LoadState(append(append([]byte(stateMagic), sum[:]...), body...)); err != nil {
			if !errors.Is(err, ErrState) {
				t.Errorf("%v is no ErrState", err)
			}
			return
		}
		for range 3 {
			if err := s.Block(); err != nil {
				return
			}
		}
	})
}
