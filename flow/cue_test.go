package flow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A ledger adds up what events say: at each frame the sum of kinds, keys and values so far.
type ledger[F node.Float] struct{ sum float64 }

func (l *ledger[F]) Listen() bool { return true }
func (l *ledger[F]) Reset()       { l.sum = 0 }
func (l *ledger[F]) Forward(c *node.Call[F]) graph.Code {
	events := c.Events.All()
	for i := range c.Tokens {
		for len(events) > 0 && int(events[0].Offset) == i {
			e := events[0]
			l.sum = 0.75*l.sum + float64(e.Kind) + float64(e.Key)/128 + float64(e.Value)
			events = events[1:]
		}
		c.Out[0].Data[i] = F(l.sum)
	}
	if len(events) > 0 {
		return graph.InvalidArg
	}
	return graph.Success
}
func (l *ledger[F]) StateBytes() int     { return 8 }
func (l *ledger[F]) Save(dst []byte) int { return node.PutFloats(dst, []float64{l.sum}) }
func (l *ledger[F]) Load(src []byte) graph.Code {
	v := []float64{0}
	node.GetFloats(v, src)
	l.sum = v[0]
	return graph.Success
}

// cueTypes are the shipped types and Ledger, a source that listens.
func cueTypes() node.Table {
	return append(node.Table{{Name: "Ledger", Outs: []string{"out"},
		New32: func(node.Config) (node.Instance[float32], error) { return &ledger[float32]{}, nil },
		New64: func(node.Config) (node.Instance[float64], error) { return &ledger[float64]{}, nil }}}, append(flowtest.Types(), ShippedTypes()...)...)
}

// TestCueFrames: a parameter changes at the frame that a cue names, at once or along a ramp, at any rate, whatever the
// block size.
func TestCueFrames(t *testing.T) {
	t.Parallel()
	const frames = 700
	cues := []Cue{
		{Frame: 13, Node: "v", Param: "value", Value: 2},
		{Frame: 101, Node: "v", Param: "value", Value: 10, Ramp: 40},
		{Frame: 121, Node: "v", Param: "value", Value: -2, Ramp: 10},
		{Frame: 200, Node: "v", Param: "value", Value: 5},
		{Frame: 200, Node: "v", Param: "value", Value: 6},
		{Frame: 300, Node: "v", Param: "value", Clear: true, Ramp: 100},
	}
	want := func(n float64) float64 {
		switch {
		case n < 13:
			return 0.5
		case n < 101:
			return 2
		case n < 121:
			return 2 + 8*(n-101)/40
		case n < 131:
			return 6 - 8*(n-121)/10
		case n < 200:
			return -2
		case n < 300:
			return 6
		case n < 400:
			return 6 - 5.5*(n-300)/100
		}
		return 0.5
	}
	for _, block := range []int{1, 7, 20, 64, 100, 700} {
		for _, o := range []Options{{}, {DisableStatic: true}} {
			p := &planText{}
			p.node(`{"name": "v", "type": "Constant", "params": {"value": 0.5}}`)
			p.node(`{"name": "out", "type": "Probe"}`)
			p.edge("v", "out", "")
			o.BlockFrames, o.Automate = block, []string{"v.value"}
			s := start[float64](t, p, o)
			order := slices.Clone(cues)
			order[0], order[5], order[1], order[2] = order[5], order[0], order[2], order[1] // the order counts only at one frame
			if err := s.Post(order...); err != nil {
				t.Fatal(err)
			}
			out := run(t, s, nil, (frames+block-1)/block)["out"]
			for n := range frames {
				if got := out.Data[n]; math.Abs(got-want(float64(n))) > 1e-13 {
					t.Fatalf("blocks of %d: frame %d has %g, want %g", block, n, got, want(float64(n)))
				}
			}
		}
	}
	p := &planText{} // a quarter of the rate: the first frame that is not earlier
	p.node(`{"name": "in", "type": "Input", "params": {"rate_den": 4}}`)
	p.node(`{"name": "g", "type": "Gain"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("in", "g", "")
	p.edge("g", "out", "")
	s := start[float64](t, p, Options{Automate: []string{"g.gain"}})
	if err := s.Post(Cue{Frame: 81, Node: "g", Param: "gain", Value: 2}); err != nil {
		t.Fatal(err)
	}
	x := counter[float64](64)
	for n, v := range run(t, s, map[string]node.Tensor[float64]{"in": x}, 4)["out"].Data {
		if want := float64(n) * map[bool]float64{true: 1, false: 2}[n < 21]; v != want {
			t.Fatalf("frame %d at a quarter of the rate: %g, want %g", n, v, want)
		}
	}
}

// drawCues draws cues for the nodes and parameters of a session's graph.
func drawCues[F node.Float](r *rand.Rand, s *Session[F], params []string, frames int) (all []Cue) {
	for range 5 + r.IntN(60) {
		c := Cue{Frame: r.Int64N(int64(frames))}
		if r.IntN(2) == 0 && len(params) > 0 {
			name := params[r.IntN(len(params))]
			c.Node, c.Param, _ = cutParam(name)
			p, _ := s.find(c.Node, graph.Inner)
			i := slices.IndexFunc(p.Spec.Params, func(x graph.ParamSpec) bool { return x.Name == c.Param })
			c.Value, c.Clear = p.Spec.Params[i].Value.Data[0]*(0.5+r.Float64()), r.IntN(5) == 0
			c.Ramp = []int64{0, 1, r.Int64N(400)}[r.IntN(3)]
		} else if len(s.Listeners()) > 0 {
			c.Event = node.Event{Kind: node.EventKind(1 + r.IntN(7)), Key: uint8(r.IntN(128)), Value: r.Float32(), Channel: uint8(r.IntN(2))}
			if r.IntN(2) == 0 {
				c.Event.Kind = node.NoteOn
			}
		} else {
			continue
		}
		all = append(all, c)
	}
	return all
}

// TestRandomCues: random graphs with random cues give the same frames for every block size, order, path and number of
// threads, and again from the log.
func TestRandomCues(t *testing.T) {
	t.Parallel()
	types := cueTypes()
	graphs, heard := 0, 0
	seeds := drawings() / 3
	if !testing.Short() {
		seeds = max(seeds, 13)
	}
	for seed := range seeds {
		g := flowtest.Draw(seed + 1000)
		text := strings.Replace(g.Text, `{"nodes": [`, `{"nodes": [{"name": "ledger", "type": "Ledger"}, {"name": "ring", "type": "Gain"}, {"name": "pledger", "type": "Probe"}, `, 1)
		text = strings.Replace(text, `"edges": [`, `"edges": [{"source": "ledger", "target": "ring"}, {"source": "ring", "target": "pledger"},`, 1)
		plan, err := graph.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		const frames = 4800
		r := rand.New(rand.NewPCG(seed, 5))
		var cues []Cue
		var want, plain map[string]node.Tensor[float32]
		inputs := map[string]node.Tensor[float32]{}
		for name, x := range flowtest.Streams[float32](&flowtest.Graph{Inputs: g.Inputs, Batches: g.Batches, Channels: g.Channels}, frames) {
			inputs[name] = fromRows(plan, name, x)
		}
		var params []string
		for _, n := range plan.Nodes {
			for _, p := range map[string][]string{"Gain": {"gain"}, "Biquad": {"f0", "q"}, "OnePole": {"f0"}, "Oscillator": {"frequency_hz", "amplitude"}, "WaveShaper": {"drive"}}[n.Type] {
				params = append(params, n.Name+"."+p)
			}
		}
		var log []ControlToken
		var failed error
		for i, o := range []Options{{}, {BlockFrames: 16}, {BlockFrames: 16, Threads: 2, eager: true}, {BlockFrames: 100, DisableStatic: true}, {BlockFrames: 40, Schedule: seed + 1}, {BlockFrames: 4800}, {BlockFrames: 5, DisableFusion: true}, {BlockFrames: 48}} {
			o.Catalog, o.Automate = types, params
			if o.BlockFrames == 0 {
				o.BlockFrames = 64
			}
			s, err := New[float32](plan, o)
			if err != nil { // a barrier that waits for itself, perhaps only with this block size
				failed = err
				continue
			}
			for k := range int64(frames) { // gates hold back, and change nothing
				_ = s.OpenGate(3, k)
			}
			if cues == nil {
				out, err := s.Run(inputs, frames/o.BlockFrames)
				if err != nil {
					t.Fatal(err)
				}
				plain = out
				s.Reset()
				for k := range int64(frames) {
					_ = s.OpenGate(3, k)
				}
				cues = drawCues(r, s, params, frames)
			}
			if i == 7 && log != nil {
				err = s.Play(log)
			} else {
				err = s.Post(cues...)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(inputs, frames/o.BlockFrames)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = out
			}
			for name, x := range want {
				if at, same := sameFrames(x, out[name]); !same {
					t.Errorf("graph %d, options %d: %s took %d frames, not %d, or differs at frame %d\n%s", seed, i, name, out[name].N, x.N, at, text)
				}
				if at, same := sameFrames(plain[name], out[name]); !same && i == 1 {
					heard++
					_ = at
				}
			}
			var b strings.Builder
			for _, k := range s.Control() {
				if k.Cue != nil {
					fmt.Fprintln(&b, k)
				}
			}
			if log, err = ParseControl(strings.NewReader(b.String())); err != nil || len(log) < len(cues) {
				t.Fatalf("%d cues of %d read again: %v", len(log), len(cues), err)
			}
			s.Close()
			graphs++
		}
		if t.Failed() {
			t.Fatalf("cues %v, %v", cues, failed)
		}
	}
	if graphs == 0 || heard == 0 {
		t.Errorf("%d runs, %d probes that heard a cue", graphs, heard)
	}
}

func sameFrames[F node.Float](a, b node.Tensor[F]) (int, bool) {
	for i := range min(len(a.Data), len(b.Data)) {
		if a.Data[i] != b.Data[i] {
			return i, false
		}
	}
	return 0, len(a.Data) == len(b.Data)
}

// automatedPlan is a gain whose parameter cues and an edge change, and a biquad after it.
func automatedPlan() *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input", "params": {"channels": 2}}`)
	p.node(`{"name": "by", "type": "Input", "params": {"channels": 2}}`)
	p.node(`{"name": "g", "type": "Gain", "supports_v2": true, "params": {"gain": {"shape": [1, 2, 1], "data": [0.5, -0.75]}}}`)
	p.node(`{"name": "eq", "type": "Biquad", "supports_v2": true, "params": {"f0": 3000, "q": 0.9}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("in", "g", "")
	p.edge("by", "g.gain", `, "mode": "mul", "scale": 0.5`)
	p.edge("g", "eq", "")
	p.edge("eq", "out", "")
	return p
}

// TestCueGradients: parameters that cues change have exact gradients, as finite differences of float64 say, and the same
// bits from snapshots.
func TestCueGradients(t *testing.T) {
	t.Parallel()
	const frames, tolerance = 320, 1e-6
	cues := []Cue{
		{Frame: 50, Node: "g", Param: "gain", Value: 2, Ramp: 90},
		{Frame: 120, Node: "eq", Param: "f0", Value: 500},
		{Frame: 200, Node: "g", Param: "gain", Clear: true, Ramp: 64},
		{Frame: 230, Node: "eq", Param: "f0", Clear: true, Ramp: 60},
		{Frame: 260, Node: "eq", Param: "q", Value: 2, Ramp: 10},
	}
	r := rand.New(rand.NewPCG(4, 4))
	inputs := map[string]node.Tensor[float64]{}
	for _, name := range []string{"in", "by"} {
		x := node.Tensor[float64]{Data: make([]float64, 2*frames), B: 1, C: 2, N: frames}
		for i := range x.Data {
			x.Data[i] = r.Float64() + 0.1
		}
		inputs[name] = x
	}
	weights := make([]float64, 2*frames)
	for i := range weights {
		weights[i] = r.NormFloat64()
	}
	plan := automatedPlan().parse(t)
	open := func(block int) *Session[float64] {
		s, err := New[float64](plan, Options{BlockFrames: block, Training: true, Automate: []string{"g.gain", "eq.f0", "eq.q"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Post(cues...); err != nil {
			t.Fatal(err)
		}
		return s
	}
	loss := func() (sum float64) {
		s := open(64)
		defer s.Close()
		for i, v := range run(t, s, inputs, frames/64)["out"].Data {
			sum += weights[i] * v
		}
		return sum
	}
	var first *Gradients[float64]
	for _, c := range []struct {
		block int
		rec   Recording
	}{{64, Recording{}}, {64, Recording{Every: 2}}, {32, Recording{Slots: 2}}, {320, Recording{}}, {20, Recording{Every: EverySqrt}}} {
		s := open(c.block)
		rec, err := s.Record(c.rec)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, inputs, frames/c.block)
		g, err := rec.Backward(map[string]node.Tensor[float64]{"out": {Data: weights, B: 1, C: 2, N: frames}}, Sweep{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if first == nil {
			first = g
		}
		for i := range g.Params {
			if !slices.Equal(g.Params[i].Value.Data, first.Params[i].Value.Data) {
				t.Errorf("%+v: %s.%s has gradient %v, not %v", c, g.Params[i].Node, g.Params[i].Name, g.Params[i].Value.Data, first.Params[i].Value.Data)
			}
		}
		for name, x := range g.Inputs {
			if _, same := sameFrames(x, first.Inputs[name]); !same {
				t.Errorf("%+v: the gradient of %s differs", c, name)
			}
		}
	}
	check := func(name string, at *float64, got float64) {
		t.Helper()
		was, h := *at, 1e-6*max(1, math.Abs(*at))
		*at = was + h
		up := loss()
		*at = was - h
		down := loss()
		*at = was
		if want := (up - down) / (2 * h); math.Abs(got-want) > tolerance*max(1, math.Abs(want)) {
			t.Errorf("gradient of %s is %g, want %g", name, got, want)
		}
	}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		for k := range n.Params {
			p := &n.Params[k]
			if g := first.Param(n.Name, p.Name); g != nil {
				for j := range p.Value.Data {
					check(fmt.Sprintf("%s.%s[%d]", n.Name, p.Name, j), &p.Value.Data[j], g.Data[j])
				}
			}
		}
	}
	for _, name := range []string{"in", "by"} {
		for _, k := range []int{0, 49, 50, 51, 139, 140, 200, 263, 264, 319, 320 + 230, 320 + 100} {
			check(fmt.Sprintf("%s[%d]", name, k), &inputs[name].Data[k], first.Inputs[name].Data[k])
		}
	}
}

// TestLateCues: a cue for a frame that has been computed happens at the next block, and the log says so.
func TestLateCues(t *testing.T) {
	t.Parallel()
	p := &planText{}
	p.node(`{"name": "l", "type": "Ledger"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("l", "out", "")
	s := start[float64](t, p, Options{Catalog: cueTypes()})
	block(t, s)
	if err := s.Post(Cue{Frame: 3, Event: node.Event{Kind: node.NoteOff, Key: 64, Value: 0.5}}, Cue{Frame: 70, Node: "l", Event: node.Event{Kind: node.NoteOn, Value: 1}}); err != nil {
		t.Fatal(err)
	}
	block(t, s)
	out, _ := s.Probe("out")
	if want := 2 + 0.5 + 0.5; out.Data[0] != want || out.Data[5] != want || out.Data[6] != 0.75*want+2 {
		t.Errorf("got %g %g %g, want %g at first and %g from frame 6 on", out.Data[0], out.Data[5], out.Data[6], want, 0.75*want+2)
	}
	if got := fmt.Sprint(s.Control()); got != "[@64 off l 0 64 0.5 @70 on l 0 0 1]" {
		t.Errorf("the log is %s", got)
	}
	for _, bad := range []Cue{{Frame: -1, Event: node.Event{Kind: node.NoteOn}}, {Event: node.Event{}}, {Node: "out", Event: node.Event{Kind: node.NoteOn}},
		{Event: node.Event{Kind: node.NoteOn, Channel: 16}}, {Event: node.Event{Kind: node.NoteOn, Value: float32(math.NaN())}}, {Node: "l", Param: "thermo.heat"}, {Node: "l", Param: "none"}, {Node: "nobody", Param: "x"}} {
		if err := s.Post(bad); err == nil {
			t.Errorf("%v was queued", &bad)
		}
	}
	if _, err := New[float64](p.parse(t), Options{Catalog: cueTypes(), Automate: []string{"l.loudness"}}); err == nil {
		t.Error("a parameter that does not exist is automated")
	}
}

// TestCueAllocations: blocks with cues allocate nothing, on both paths.
func TestCueAllocations(t *testing.T) {
	p := automatedPlan()
	p.node(`{"name": "l", "type": "Ledger"}`)
	p.node(`{"name": "heard", "type": "Probe"}`)
	p.edge("l", "heard", "")
	for _, o := range []Options{{}, {DisableStatic: true}} {
		o.Catalog, o.Automate = cueTypes(), []string{"g.gain", "eq.f0"}
		s := start[float32](t, p, o)
		for k := range int64(2000) {
			if err := s.Post(Cue{Frame: 30 * k, Event: node.Event{Kind: node.NoteOn}}, Cue{Frame: 31 * k, Node: "g", Param: "gain", Value: float64(k), Ramp: 13}); err != nil {
				t.Fatal(err)
			}
		}
		step := s.Step()
		for range 10 {
			step()
		}
		if n := await.Allocs(200, func() { step() }); n != 0 {
			t.Errorf("%g allocations in a block", n)
		}
	}
}

// TestConcurrentCues: cues may be posted while blocks run. Every one is heard, and the log repeats the stream.
func TestConcurrentCues(t *testing.T) {
	t.Parallel()
	p := &planText{}
	p.node(`{"name": "l", "type": "Ledger"}`)
	p.node(`{"name": "g", "type": "Gain"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("l", "g", "")
	p.edge("g", "out", "")
	o := Options{Catalog: cueTypes(), Automate: []string{"g.gain"}, BlockFrames: 32}
	s := start[float64](t, p, o)
	const posts, goroutines = 700, 2
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for k := range posts {
				if err := s.Post(Cue{Event: node.Event{Kind: node.NoteOn, Key: uint8(k % 128)}}, Cue{Frame: int64(k * 7 * i), Node: "g", Param: "gain", Value: float64(k), Ramp: int64(k)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var got []float64
	step := s.Step()
	const blocks = 400
	for range blocks {
		if code := step(); code != graph.Success {
			t.Fatal(code)
		}
		out, _ := s.Probe("out")
		got = append(got, out.Data[:out.N]...)
	}
	wg.Wait()
	log := s.Control()
	if len(log) != 2*posts*goroutines {
		t.Errorf("%d cues in the log, want %d", len(log), 2*posts*goroutines)
	}
	again := start[float64](t, p, o)
	if err := again.Play(log); err != nil {
		t.Fatal(err)
	}
	for at := range blocks {
		block(t, again)
		out, _ := again.Probe("out")
		if !slices.Equal(out.Data[:out.N], got[at*32:(at+1)*32]) {
			t.Fatalf("block %d differs when the log is played", at)
		}
	}
}
