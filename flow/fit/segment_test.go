package fit_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/fit"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/grad"
)

// plan is a filter with feedback, two inputs and two probes.
const plan = `{"graph":{"nodes":[
	{"name":"x","type":"Input","params":{"channels":2}}, {"name":"c","type":"Input"},
	{"name":"eq","type":"Biquad","supports_v2":true,"params":{"f0":2000,"q":1.5}},
	{"name":"m","type":"Mix","supports_v2":true}, {"name":"fb","type":"Gain","supports_v2":true,"params":{"gain":0.3}},
	{"name":"v","type":"Gain","supports_v2":true,"params":{"gain":{"shape":[1,2,1],"data":[1,0.5]}}},
	{"name":"a","type":"Probe"}, {"name":"b","type":"Probe"}],
	"edges":[{"source":"x","target":"eq"}, {"source":"eq","target":"m.in0"}, {"source":"m","target":"fb"},
	{"source":"fb","target":"m.in1","delay_frames":3}, {"source":"m","target":"v"}, {"source":"c","target":"v.gain","mode":"add"},
	{"source":"v","target":"a"}, {"source":"m","target":"b"}]}}`

var trained = []string{"eq.f0", "eq.q", "fb.gain", "v.gain"}

// point are the values of the parameters, then of a matrix that mixes the
// streams before the graph.
func point() [][]float64 { return [][]float64{{1800}, {1.2}, {0.25}, {0.8, -0.4}, {1, 0.3, -0.2, 0.7}} }

const frames = 48

func streams() (x, c []float64) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 2 * frames {
		x = append(x, r.NormFloat64())
	}
	for range frames {
		c = append(c, r.NormFloat64())
	}
	return x, c
}

// loss computes a loss with two uses of the segment: a matrix before it, and the
// sum of squares of the outputs. Everything is recorded on t; refs are those of
// the point and of c.
func loss(t *grad.Tape[float64], seg *fit.Segment[float64], at [][]float64) (l grad.Ref, refs []grad.Ref, err error) {
	xs, cs := streams()
	for _, v := range at[:4] {
		refs = append(refs, t.Param(v, len(v)))
	}
	w := t.Param(at[4], 2, 2)
	x := t.MatMul(w, t.Const(xs, 2, frames))
	c := t.Input(cs, 1, 1, frames)
	refs = append(refs, w, c)
	once, err := seg.Apply(t, []grad.Ref{t.Slice(x, 0, 1, 2, frames), c}, refs[:4])
	if err != nil {
		return 0, nil, err
	}
	twice, err := seg.Apply(t, []grad.Ref{once[0], c}, refs[:4])
	if err != nil {
		return 0, nil, err
	}
	l = t.Sum(t.Add(t.Mul(twice[0], twice[0]), t.Add(t.Mul(twice[1], twice[1]), t.Mul(once[1], once[1]))))
	return l, refs, t.Err()
}

func newSegment(t testing.TB, cfg fit.SegmentConfig) (*fit.Segment[float64], *grad.Registry[float64]) {
	t.Helper()
	p, err := graph.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Options.BlockFrames = 16
	seg, err := fit.NewSegment[float64](p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var reg grad.Registry[float64]
	fit.RegisterSegment(&reg)
	return seg, &reg
}

// gradients are those of the loss by every ref.
func gradients(t testing.TB, tape *grad.Tape[float64], seg *fit.Segment[float64], at [][]float64) (float64, [][]float64) {
	t.Helper()
	l, refs, err := loss(tape, seg, at)
	if err != nil {
		t.Fatal(err)
	}
	value := tape.Value(l)[0]
	if err := tape.Backward(l); err != nil {
		t.Fatal(err)
	}
	if err := seg.Err(); err != nil {
		t.Fatal(err)
	}
	var all [][]float64
	for _, r := range refs {
		d, ok := tape.Grad(r)
		if !ok {
			t.Fatalf("no gradient of %v", r)
		}
		all = append(all, slices.Clone(d))
	}
	return value, all
}

// TestGradient compares the gradients of a tape with two uses of a segment with
// central differences, with every call kept and with snapshots, and checks that
// sessions used again give the same bits.
func TestGradient(t *testing.T) {
	t.Parallel()
	var first [][]float64
	for _, every := range []int{0, 2, flow.EverySqrt} {
		seg, reg := newSegment(t, fit.SegmentConfig{Params: trained, Record: flow.Recording{Every: every}})
		tape := grad.New(reg)
		for range 3 {
			tape.Reset()
			_, got := gradients(t, tape, seg, point())
			if first == nil {
				first = got
			}
			if !slices.EqualFunc(got, first, slices.Equal[[]float64]) {
				t.Fatalf("every %d: gradients %v, want the same bits as %v", every, got, first)
			}
		}
	}
	seg, reg := newSegment(t, fit.SegmentConfig{Params: trained})
	value := func(at [][]float64) float64 {
		tape := grad.New(reg, grad.Recording(false))
		l, _, err := loss(tape, seg, at)
		if err != nil {
			t.Fatal(err)
		}
		return tape.Value(l)[0]
	}
	for i, v := range point() {
		for k := range v {
			step := 1e-6 * math.Abs(v[k])
			up, down := point(), point()
			up[i][k] += step
			down[i][k] -= step
			want := (value(up) - value(down)) / (2 * step)
			if math.Abs(first[i][k]-want) > 1e-6*math.Abs(want)+1e-7 {
				t.Errorf("value %d of %d: gradient %.12g, difference %.12g", k, i, first[i][k], want)
			}
		}
	}
}

// TestByHand compares one use with an explicit sweep.
func TestByHand(t *testing.T) {
	t.Parallel()
	seg, reg := newSegment(t, fit.SegmentConfig{Params: []string{"fb.gain"}})
	xs, cs := streams()
	tape := grad.New(reg)
	x, c, g := tape.Input(xs, 1, 2, frames), tape.Input(cs, 1, 1, frames), tape.Param([]float64{0.3}, 1)
	out, err := seg.Apply(tape, []grad.Ref{x, c}, []grad.Ref{g})
	if err != nil {
		t.Fatal(err)
	}
	if err := tape.Backward(tape.Sum(tape.Mul(out[0], out[0]))); err != nil {
		t.Fatal(err)
	}
	p, err := graph.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float64](p, flow.Options{BlockFrames: 16, Training: true})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.Record(flow.Recording{})
	if err != nil {
		t.Fatal(err)
	}
	took, err := s.Run(map[string]node.Tensor[float64]{"x": {Data: xs, B: 1, C: 2, N: frames}, "c": {Data: cs, B: 1, C: 1, N: frames}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	seed := took["a"]
	seed.Data = slices.Clone(seed.Data)
	for i := range seed.Data {
		seed.Data[i] *= 2
	}
	want, err := rec.Backward(map[string]node.Tensor[float64]{"a": seed}, flow.Sweep{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tape.Value(out[0]), took["a"].Data) || !slices.Equal(tape.Value(out[1]), took["b"].Data) {
		t.Error("other outputs")
	}
	for name, r := range map[string]grad.Ref{"x": x, "c": c} {
		if d, _ := tape.Grad(r); !slices.Equal(d, want.Inputs[name].Data) {
			t.Errorf("gradient of %s: %v, want %v", name, d, want.Inputs[name].Data)
		}
	}
	if d, _ := tape.Grad(g); d[0] != want.Param("fb", "gain").Data[0] {
		t.Errorf("gradient of the parameter: %v, want %v", d, want.Param("fb", "gain").Data)
	}
}

// TestMistakes checks that invalid uses are errors with a remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	p, err := graph.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"eq.f1", "nobody.gain", "eq", "v.thermo.heat"} {
		if _, err := fit.NewSegment[float64](p, fit.SegmentConfig{Params: []string{name}}); !errors.Is(err, &graph.Error{Code: graph.InvalidArg}) {
			t.Errorf("parameter %s: %v", name, err)
		}
	}
	seg, reg := newSegment(t, fit.SegmentConfig{Params: trained[:1]})
	tape := grad.New(reg)
	x, c, f := tape.Const(make([]float64, 64), 1, 2, 32), tape.Const(make([]float64, 16), 1, 1, 16), tape.Const([]float64{1}, 1)
	odd, two := tape.Const(make([]float64, 14), 1, 2, 7), tape.Const([]float64{1, 2}, 2)
	for name, call := range map[string]struct{ in, params []grad.Ref }{
		"one input":            {[]grad.Ref{x}, []grad.Ref{f}},
		"inputs of two sizes":  {[]grad.Ref{x, c}, []grad.Ref{f}},
		"half a block":         {[]grad.Ref{odd, c}, []grad.Ref{f}},
		"no parameter":         {[]grad.Ref{tape.Const(make([]float64, 32), 1, 2, 16), c}, nil},
		"a parameter too long": {[]grad.Ref{tape.Const(make([]float64, 32), 1, 2, 16), c}, []grad.Ref{two}},
	} {
		if _, err := seg.Apply(tape, call.in, call.params); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if tape.Err() != nil {
		t.Errorf("the tape is spoilt: %v", tape.Err())
	}
}

// Example_segment fits the gain of a graph by gradient descent.
func Example_segment() {
	p, err := graph.Parse([]byte(`{"nodes":[{"name":"x","type":"Input"},
		{"name":"g","type":"Gain","supports_v2":true},{"name":"y","type":"Probe"}],
		"edges":[{"source":"x","target":"g"},{"source":"g","target":"y"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := fit.SegmentConfig{Params: []string{"g.gain"}}
	cfg.Options.BlockFrames = 2
	seg, err := fit.NewSegment[float64](p, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	var reg grad.Registry[float64]
	fit.RegisterSegment(&reg)
	tape := grad.New(&reg)
	gain := []float64{1}
	for range 20 {
		tape.Reset()
		g := tape.Param(gain, 1)
		out, err := seg.Apply(tape, []grad.Ref{tape.Const([]float64{1, -2}, 1, 1, 2)}, []grad.Ref{g})
		if err != nil {
			fmt.Println(err)
			return
		}
		miss := tape.Sub(out[0], tape.Const([]float64{3, -6}, 1, 1, 2))
		if err := tape.Backward(tape.Sum(tape.Mul(miss, miss))); err != nil {
			fmt.Println(err)
			return
		}
		d, _ := tape.Grad(g)
		gain[0] -= 0.08 * d[0]
	}
	fmt.Printf("%.4f\n", gain[0])
	// Output: 3.0000
}
