package flow

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// rich is a plan of nodes with states, a feedback, a change of rate and notes; more are further nodes at its end.
func rich(cutoff float64, kind string) *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "tone", "type": "Oscillator", "params": {"kind": %q, "frequency_hz": 0, "amplitude": 0.3}}`, kind)
	p.node(`{"name": "keys", "type": "Notes", "params": {"voices": 1}}`)
	p.node(`{"name": "env", "type": "ADSR", "params": {"attack": 0.002, "decay": 0.004, "release": 0.01}}`)
	p.node(`{"name": "vca", "type": "Gain"}`)
	p.node(`{"name": "hiss", "type": "Noise", "params": {"amplitude": 0.1}}`)
	p.node(`{"name": "mix", "type": "Mix", "params": {"inputs": 4}}`)
	p.node(`{"name": "low", "type": "Biquad", "params": {"f0": %g}}`, cutoff)
	p.node(`{"name": "back", "type": "Gain", "params": {"gain": 0.6}}`)
	p.node(`{"name": "up", "type": "Upsample", "params": {"tier": 60}}`)
	p.node(`{"name": "clip", "type": "WaveShaper", "params": {"kind": "soft"}}`)
	p.node(`{"name": "down", "type": "Downsample", "params": {"tier": 60}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("keys", "tone.frequency_hz", "")
	p.edge("keys.gate", "env", "")
	p.edge("tone", "vca", "")
	p.edge("env", "vca.gain", `, "mode": "mul"`)
	p.edge("in", "mix.in0", "")
	p.edge("vca", "mix.in1", "")
	p.edge("hiss", "mix.in2", "")
	p.edge("mix", "low", "")
	p.edge("low", "back", "")
	p.edge("back", "mix.in3", `, "delay_frames": 37`)
	p.edge("low", "up", "")
	p.edge("up", "clip", "")
	p.edge("clip", "down", "")
	p.edge("down", "out", "")
	return p
}

// changed runs a plan that changes to another one.
func changed[F node.Float](t *testing.T, from, to *graph.Plan, o Options, frame, fade int64, frames int, cues []Cue) []F {
	t.Helper()
	s, err := New[F](from, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if to != nil {
		if err := s.Change(frame, fade, to); err != nil {
			t.Fatal(err)
		}
	}
	block := s.Linked().BlockFrames
	if err := s.Post(cues...); err != nil {
		t.Fatal(err)
	}
	x := counter[F](frames)
	for i := range x.Data {
		x.Data[i] = F(math.Sin(float64(i*i) / 3000))
	}
	var out []F
	take := func() {
		y, _ := s.Probe("out")
		out = append(out, y.Data[:y.N]...)
	}
	for at := 0; ; at += block {
		in, _ := s.Input("in")
		cutBlock(&in, &x, at)
		if again := frame + fade + 300; to != nil && int64(at) > frame+int64(block) && int64(at) <= again {
			if err := s.Change(again, 0, to); err != nil && int64(at) <= again-int64(block) {
				t.Fatal(err)
			}
			to = nil
		}
		if at+block > frames {
			if err := s.Finish(graph.Rat{Num: int64(frames - at), Den: 1}); err != nil {
				t.Fatal(err)
			}
			break
		}
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
		take()
	}
	for moved := true; moved; take() {
		if moved, err = s.Drain(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) != frames {
		t.Fatalf("%d frames of %d, in blocks of %d", len(out), frames, block)
	}
	return out
}

func richCues(r *rand.Rand, frames int) (cues []Cue) {
	for at := 0; at < frames; at += 20 + r.IntN(300) {
		cues = append(cues, Cue{Frame: int64(at), Event: node.Event{Kind: node.EventKind(1 + r.IntN(2)), Key: 60, Value: 0.7}})
	}
	return append(cues, Cue{Frame: int64(r.IntN(frames)), Event: node.Event{Kind: node.PitchBend, Value: r.Float32()}})
}

// TestChangeToSame: a change to the same plan is not heard: states, feedback, positions and notes go on.
func TestChangeToSame(t *testing.T) {
	t.Parallel()
	const frames = 2000
	r := rand.New(rand.NewPCG(1, 1))
	plan := rich(900, "saw").parse(t)
	for range 25 {
		cues := richCues(r, frames)
		want := changed[float64](t, plan, nil, Options{}, 0, 0, frames, cues)
		o := Options{BlockFrames: []int{1, 10, 64, 100, 250}[r.IntN(5)], DisableStatic: r.IntN(3) == 0}
		frame, fade := r.Int64N(frames-100), []int64{0, 1, r.Int64N(400)}[r.IntN(3)]
		got := changed[float64](t, plan, plan, o, frame, fade, frames, cues)
		for i, v := range want {
			if d := math.Abs(got[i] - v); d > 1e-12 || fade == 0 && d != 0 {
				t.Fatalf("change at %d, fade of %d, blocks of %d: frame %d has %g, want %g", frame, fade, o.BlockFrames, i, got[i], v)
			}
		}
	}
}

// TestChangeBlocks: a change to another plan gives the same frames for every block size, path and number of threads, and
// a second change after it.
func TestChangeBlocks(t *testing.T) {
	t.Parallel()
	const frames = 2400
	r := rand.New(rand.NewPCG(2, 2))
	one, two := rich(900, "saw").parse(t), rich(4000, "square").parse(t)
	for k := range 12 {
		cues, frame, fade := richCues(r, frames), r.Int64N(1500), r.Int64N(300)
		if k%2 == 0 { // the stream ends within the fade, or not far behind it
			frame = frames - 1 - r.Int64N(300)
		}
		plain := changed[float32](t, one, nil, Options{}, 0, 0, frames, cues)
		var want []float32
		for _, o := range []Options{{}, {BlockFrames: 1}, {BlockFrames: 100, DisableStatic: true}, {BlockFrames: 240, Threads: 2, eager: true}, {BlockFrames: 2390}, {BlockFrames: 5000}, {BlockFrames: 2375}, {BlockFrames: 30, Schedule: 3}} {
			got := changed[float32](t, one, two, o, frame, fade, frames, cues)
			if want == nil {
				want = got
			}
			differs := false
			for i := range frames {
				if got[i] != want[i] {
					t.Fatalf("change at %d, fade of %d, blocks of %d: frame %d has %g, want %g", frame, fade, o.BlockFrames, i, got[i], want[i])
				}
				if int64(i) < frame && got[i] != plain[i] {
					t.Fatalf("change at %d: frame %d is another one", frame, i)
				}
				differs = differs || got[i] != plain[i]
			}
			if !differs {
				t.Fatal("the change is not heard")
			}
		}
	}
}

// TestChangeFade: the fade is linear, from the frame on, and a second change may follow.
func TestChangeFade(t *testing.T) {
	t.Parallel()
	gain := func(g float64) *graph.Plan {
		p := &planText{}
		p.node(`{"name": "in", "type": "Input"}`)
		p.node(`{"name": "g", "type": "Gain", "params": {"gain": %g}}`, g)
		p.node(`{"name": "out", "type": "Probe"}`)
		p.edge("in", "g", "")
		p.edge("g", "out", "")
		return p.parse(t)
	}
	for _, block := range []int{1, 13, 50} {
		s, err := New[float64](gain(1), Options{BlockFrames: block, Automate: []string{"g.gain"}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Change(30, 40, gain(3)); err != nil {
			t.Fatal(err)
		}
		if err := s.Change(50, 0, gain(7)); err == nil {
			t.Error("a change within a fade")
		}
		if err := s.Post(Cue{Frame: 500, Node: "g", Param: "gain", Value: 9}); err != nil {
			t.Fatal(err)
		}
		in, _ := s.Input("in")
		for n := 0; n < 600; n += block {
			for i := range in.Data {
				in.Data[i] = 1
			}
			if n >= 100 && n < 100+block {
				if err := s.Change(311, 10, gain(5)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			out, err := s.Probe("out")
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range out.Data[:out.N] {
				want, at := 1.0, float64(n+i)
				switch {
				case at >= 500:
					want = 9
				case at >= 321:
					want = 5
				case at >= 311:
					want = 3 + 2*(at-311)/10
				case at >= 70:
					want = 3
				case at >= 30:
					want = 1 + 2*(at-30)/40
				}
				if math.Abs(v-want) > 1e-12 {
					t.Fatalf("blocks of %d: frame %g has %g, want %g", block, at, v, want)
				}
			}
		}
	}
}

// TestChangeRefused: what cannot change says why.
func TestChangeRefused(t *testing.T) {
	t.Parallel()
	plain := func(more, probe string) *graph.Plan {
		p := &planText{}
		p.node(`{"name": "in", "type": "Input"}`)
		p.node(`{"name": %q, "type": "Probe"}`, probe)
		p.edge("in", probe, more)
		return p.parse(t)
	}
	s, err := New[float32](plain("", "out"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := rich(900, "saw")
	p.node(`{"name": "other", "type": "AsyncResample"}`)
	p.node(`{"name": "probe", "type": "Probe"}`)
	p.edge("in", "other", "")
	p.edge("other", "probe", "")
	for want, to := range map[string]*graph.Plan{"holds frames back": plain(`, "delay_frames": 9`, "out"), "not in both plans": plain("", "else"), "fewer frames than it takes": p.parse(t)} {
		if err := s.Change(0, 10, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	block(t, s)
	if err := s.Change(63, 0, plain("", "out")); err == nil {
		t.Error("a change in the past")
	}
	rates, err := New[float32](rich(900, "saw").parse(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rates.Close()
	if _, err := rates.Record(Recording{}); err != nil {
		t.Fatal(err)
	}
	if err := rates.Change(640, 0, rich(900, "saw").parse(t)); err == nil || !strings.Contains(err.Error(), "gradient") {
		t.Error(err)
	}
}
