package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// chain is a filter and a gain whose second version is asked for.
const chain = `{"nodes": [
	{"name": "in", "type": "Input", "params": {"channels": 2}},
	{"name": "eq", "type": "Biquad", "supports_v2": true, "params": {"kind": "lowpass", "f0": 3000, "q": 0.8}},
	{"name": "gain", "type": "Gain", "supports_v2": true, "params": {"gain": {"shape": [1, 2, 1], "data": [0.7, -0.4]}}},
	{"name": "old", "type": "Gain"}, {"name": "source", "type": "Constant", "supports_v2": true},
	{"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "eq"}, {"source": "eq", "target": "gain"}, {"source": "gain", "target": "old"}, {"source": "old", "target": "out"}]}`

func parse(t testing.TB, text string) *graph.Plan {
	t.Helper()
	p, err := graph.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noise is a stream of normal numbers.
func noise(b, c, n int) node.Tensor[float64] {
	r := rand.New(rand.NewPCG(1, 1))
	t := node.Tensor[float64]{Data: make([]float64, b*c*n), B: b, C: c, N: n}
	for i := range t.Data {
		t.Data[i] = r.NormFloat64()
	}
	return t
}

func config(t testing.TB) Config[float64] {
	t.Helper()
	target := noise(1, 2, 250) // shorter than the output
	return Config[float64]{
		Options: flow.Options{BlockFrames: 32}, Inputs: Streams[float64]{"in": noise(1, 2, 300)},
		Params: []Param{{Node: "eq", Name: "f0", Positive: true}, {Node: "eq", Name: "q", Positive: true, Scale: 3}},
		Loss:   SquaredError(Streams[float64]{"out": target}),
	}
}

// TestCheck compares derivatives by central differences, for every loss, with
// and without snapshots.
func TestCheck(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Params = append(cfg.Params, Param{Node: "gain", Name: "gain", Scale: 0.5})
	for _, every := range []int{0, 3} {
		cfg.Record.Every = every
		for _, loss := range []Loss[float64]{cfg.Loss, Sum[float64], Energy[float64]} {
			cfg.Loss = loss
			p, err := New(parse(t, strings.ReplaceAll(chain, `"old", "type": "Gain"`, `"old", "type": "Gain", "supports_v2": true`)), cfg)
			if err != nil {
				t.Fatal(err)
			}
			all, err := p.Check(p.Start(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != 4 {
				t.Fatalf("%d derivatives, want 4", len(all))
			}
			for _, d := range all {
				if !(d.Error(1) < 1e-6) || d.Exact == 0 {
					t.Errorf("%v[%d]: %g, difference %g", d.Param, d.Element, d.Exact, d.Numerical)
				}
			}
		}
	}
}

// TestPlan puts numbers back into the plan, which itself stays as it was.
func TestPlan(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Params = append(cfg.Params, Param{Node: "gain", Name: "gain"}, Param{Node: "eq", Name: "gain_db", Scale: 2})
	plan := parse(t, chain)
	before, err := plan.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := p.Start()
	x[0] += math.Log(2)
	x[2] = 9
	x[4] = 1.5
	q := p.Plan(x)
	if v := q.Nodes[1].Param("f0").Value.Data[0]; math.Abs(v-6000) > 1e-9 {
		t.Errorf("f0 is %g", v)
	}
	if v := q.Nodes[2].Param("gain").Value.Data; v[0] != 9 || v[1] != -0.4 {
		t.Errorf("gain is %v", v)
	}
	if v := q.Nodes[1].Param("gain_db").Value.Data[0]; v != 3 {
		t.Errorf("gain_db is %g", v)
	}
	if after, err := plan.Encode(); err != nil || string(after) != string(before) {
		t.Errorf("the plan has changed: %v\n%s", err, after)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    Param
		want string
	}{
		{Param{Node: "none", Name: "f0"}, "none.f0: the graph has no node none"},
		{Param{Node: "eq", Name: "gain"}, "eq.gain: type Biquad has no such parameter"},
		{Param{Node: "source", Name: "value"}, "source.value: type Constant has no adjoint"},
		{Param{Node: "old", Name: "gain"}, "old.gain: ABI version 1 has no backward mode: set supports_v2 in the plan"},
		{Param{Node: "gain", Name: "gain", Positive: true}, "gain.gain: it starts at -0.4 and must be positive"},
		{Param{Node: "gain", Name: "gain", Scale: -1}, "gain.gain: its scale is -1"},
	} {
		cfg := config(t)
		cfg.Params = []Param{c.p}
		if _, err := New(parse(t, chain), cfg); !errors.Is(err, ErrParam) || err.Error() != "parameter cannot be fitted: "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	cfg := config(t)
	cfg.Loss = SquaredError(Streams[float64]{"nowhere": noise(1, 1, 1)})
	p, err := New(parse(t, chain), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Gradient(p.Start()); err == nil || !strings.Contains(err.Error(), "a target for a probe that is not in the graph") {
		t.Error(err)
	}
	cfg.Loss = SquaredError(Streams[float64]{"out": noise(1, 1, 1)})
	if p, err = New(parse(t, chain), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := Fit(t.Context(), p, Settings{}); err == nil || !strings.Contains(err.Error(), "shape [1, 1] for a probe of [1, 2]") {
		t.Error(err)
	}
	cfg.Loss = nil
	if _, err := New(parse(t, chain), cfg); err == nil {
		t.Error("there is no loss")
	}
}

// TestFit finds a gain, and stops at the tolerance and when its context ends.
func TestFit(t *testing.T) {
	t.Parallel()
	const plan = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "g", "type": "Gain", "supports_v2": true}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "g"}, {"source": "g", "target": "out"}]}`
	x := noise(1, 1, 64)
	target := noise(1, 1, 64)
	for i := range target.Data {
		target.Data[i] *= -0.25
	}
	p, err := New(parse(t, plan), Config[float64]{Inputs: Streams[float64]{"in": x}, Params: []Param{{Node: "g", Name: "gain"}},
		Loss: SquaredError(Streams[float64]{"out": target})})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Fit(t.Context(), p, Settings{Steps: 400, Enough: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.X[0]+0.25) > 1e-3 || r.Steps == 400 || r.Loss > 1e-8 || r.First < 1 {
		t.Errorf("got %v after %d steps, loss %g of %g", r.X, r.Steps, r.Loss, r.First)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err = Fit(ctx, p, Settings{Each: func(step int, _ float64) {
		if step == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Steps != 3 || r.Plan == nil {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestSpectral: the loss of equal streams is zero, that of a stream of other phases is
// small beside that of another level, and its derivatives are those of differences.
func TestSpectral(t *testing.T) {
	t.Parallel()
	const frames = 700
	y := noise(2, 2, frames)
	want := node.Tensor[float64]{Data: slices.Clone(y.Data), B: 2, C: 2, N: frames}
	at := func(gain float64, sizes ...int) (float64, Streams[float64]) {
		loss, err := Spectral(Streams[float64]{"out": want}, sizes...)
		if err != nil {
			t.Fatal(err)
		}
		x := node.Tensor[float64]{Data: slices.Clone(y.Data), B: 2, C: 2, N: frames}
		for i := range x.Data {
			x.Data[i] *= gain
		}
		v, d, err := loss(Streams[float64]{"out": x, "other": noise(1, 1, 5)})
		if err != nil {
			t.Fatal(err)
		}
		return v, d
	}
	if v, _ := at(1); v != 0 {
		t.Errorf("the loss of the target itself is %g", v)
	}
	all, _ := at(-1, 128, 64)
	if all > 1e-12 {
		t.Errorf("turned by half a cycle the loss is %g", all)
	}
	a, _ := at(0.5, 128)
	b, _ := at(0.5, 64)
	if both, _ := at(0.5, 128, 64); a == 0 || b == 0 || math.Abs(both-a-b) > 1e-12*both {
		t.Errorf("two sizes give %g, alone %g and %g", both, a, b)
	}
	loss, err := Spectral(Streams[float64]{"out": want}, 64, 16)
	if err != nil {
		t.Fatal(err)
	}
	x := noise(2, 2, frames)
	for i := range x.Data {
		x.Data[i] *= 0.3 + 0.001*float64(i%100)
	}
	value := func() float64 {
		v, _, err := loss(Streams[float64]{"out": x})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	_, d, err := loss(Streams[float64]{"out": x})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 17, frames - 1, frames, 2*frames + 333, 4*frames - 1} {
		const h = 1e-5
		old := x.Data[i]
		x.Data[i] = old + h
		up := value()
		x.Data[i] = old - h
		slope := (up - value()) / (2 * h)
		x.Data[i] = old
		if g := d["out"].Data[i]; math.Abs(g-slope) > 1e-6*max(math.Abs(g), 1e-3) {
			t.Errorf("derivative by frame %d is %g, by differences %g", i, g, slope)
		}
	}
	for _, sizes := range [][]int{{8}, {100}, {1 << 17}} {
		if _, err := Spectral(Streams[float64]{"out": want}, sizes...); err == nil {
			t.Errorf("sizes %v are accepted", sizes)
		}
	}
	if _, _, err := loss(Streams[float64]{"else": x}); err == nil {
		t.Error("a target without a probe is accepted")
	}
}
