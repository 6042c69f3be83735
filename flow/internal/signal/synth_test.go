package signal_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
	"atenia/tensor"
)

// TestSynthNodes checks every type and kind of the table.
func TestSynthNodes(t *testing.T) {
	n := flowtest.Node
	one, two := graph.Shape{B: 2, C: 1}, graph.Shape{B: 2, C: 2}
	for name, c := range map[string]flowtest.Case{
		"harmonic":          {Node: n("HarmonicSynth", "hop", 5, "loudness", 0.7), In: []graph.Shape{one, {B: 2, C: 4}}, Amplitude: 50},
		"harmonic/loudness": {Node: n("HarmonicSynth", "hop", 3, "loudness", flowtest.Ramp(1, 1, 7, 0.1, 2)), In: []graph.Shape{one, {B: 2, C: 2}}, Amplitude: 50},
		"harmonic/rate":     {Node: n("HarmonicSynth", "hop", 1), In: []graph.Shape{one, {B: 2, C: 3}}, Amplitude: 50},
		"noise":             {Node: n("FilteredNoise", "hop", 5, "seed", 3), In: []graph.Shape{{B: 2, C: 4}}},
		"noise/short":       {Node: n("FilteredNoise", "hop", 2), In: []graph.Shape{{B: 2, C: 9}}},
		"noise/two bands":   {Node: n("FilteredNoise", "hop", 9), In: []graph.Shape{{B: 1, C: 2}}},
		"e4m3":              {Node: n("Quantize", "scale", 0.01), In: []graph.Shape{two}, NoGradient: true},
		"e5m2":              {Node: n("Quantize", "kind", "e5m2", "scale", flowtest.Ramp(1, 2, 5, 0.1, 2)), In: []graph.Shape{two}, NoGradient: true},
		"int8":              {Node: n("Quantize", "kind", "int8", "scale", 0.01), In: []graph.Shape{two}, NoGradient: true},
		"embedding":         {Node: n("Embedding", "table", flowtest.Ramp(1, 5, 3, -1, 1)), In: []graph.Shape{two}, Below: 5},
	} {
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.SynthTypes(), c) })
	}
}

func synth(t *testing.T, n graph.Node, tokens int, in ...node.Tensor[float64]) node.Tensor[float64] {
	t.Helper()
	var shapes []graph.Shape
	for _, x := range in {
		shapes = append(shapes, graph.Shape{B: x.B, C: x.C})
	}
	g := flowtest.NewRig[float64](t, signal.SynthTypes(), &n, 48000, shapes, tokens)
	return g.Forward(t, in, []int{tokens})[0]
}

// TestHarmonics: steady controls give the sum of sines, without those above half
// the rate, and controls that move go in straight lines.
func TestHarmonics(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 3))
	for range 20 {
		hop, count, tokens := 1+r.IntN(20), 1+r.IntN(30), 1+r.IntN(20)
		rate := 48000 * float64(hop)
		f0, a := flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, tokens), flowtest.NewTensor[float64](graph.Shape{B: 1, C: count}, tokens)
		for i := range f0.Data {
			f0.Data[i] = rate * 0.1 * r.Float64()
		}
		for i := range a.Data {
			a.Data[i] = r.NormFloat64()
		}
		y := synth(t, flowtest.Node("HarmonicSynth", "hop", hop, "loudness", 0.5), tokens, f0, a)
		phase, audible, silent := 0.0, 0, 0
		for i, got := range y.Data {
			token, by := i/hop, float64(i%hop+1)/float64(hop)
			line := func(row []float64) float64 { return row[max(token-1, 0)]*(1-by) + row[token]*by }
			f, want := line(f0.Data), 0.0
			for k := range count {
				if float64(k+1)*f >= rate/2 {
					silent++
					continue
				}
				audible++
				want += 0.5 * line(a.Row(k)) * math.Sin(2*math.Pi*float64(k+1)*phase)
			}
			phase += f / rate
			if math.Abs(got-want) > 1e-9*float64(count) {
				t.Fatalf("hop %d, %d harmonics: frame %d is %v, want %v", hop, count, i, got, want)
			}
		}
		if audible == 0 || count > 20 && tokens > 5 && silent == 0 {
			t.Errorf("%d audible and %d silent harmonics", audible, silent)
		}
	}
}

// TestFilteredNoise: magnitudes of one give the noise of the type Noise, delayed
// by half a filter; others are the sum of each token's noise through its filter.
func TestFilteredNoise(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 3))
	for range 20 {
		hop, bands, tokens, seed := 1+r.IntN(30), 2+r.IntN(20), 1+r.IntN(12), r.IntN(100)
		m := flowtest.NewTensor[float64](graph.Shape{B: 1, C: bands}, tokens)
		for i := range m.Data {
			m.Data[i] = 1
		}
		src := flowtest.Node("Noise", "seed", seed)
		white := flowtest.NewRig[float64](t, signal.SourceTypes(), &src, 48000, nil, tokens*hop).Forward(t, nil, []int{tokens * hop})[0].Data
		y := synth(t, flowtest.Node("FilteredNoise", "hop", hop, "seed", seed), tokens, m).Data
		for i, v := range y {
			want := 0.0
			if i >= bands-1 {
				want = white[i-bands+1]
			}
			if math.Abs(v-want) > 1e-12 {
				t.Fatalf("hop %d, %d bands: frame %d is %v, want %v", hop, bands, i, v, want)
			}
		}
		for i := range m.Data {
			m.Data[i] = r.NormFloat64()
		}
		y = synth(t, flowtest.Node("FilteredNoise", "hop", hop, "seed", seed), tokens, m).Data
		taps := 2 * (bands - 1)
		for i, v := range y {
			want := 0.0
			for k := range taps {
				if at := i - k; at >= 0 {
					h := m.Row(0)[at/hop] + m.Row(bands - 1)[at/hop]*math.Cos(math.Pi*float64(k-taps/2))
					for b := 1; b < bands-1; b++ {
						h += 2 * m.Row(b)[at/hop] * math.Cos(2*math.Pi*float64(b*(k-taps/2))/float64(taps))
					}
					want += white[at] * h / float64(taps) * (0.5 - 0.5*math.Cos(2*math.Pi*float64(k)/float64(taps)))
				}
			}
			if math.Abs(v-want) > 1e-10 {
				t.Fatalf("hop %d, %d bands: frame %d is %v, want %v", hop, bands, i, v, want)
			}
		}
	}
}

// TestQuantize: every number of a format is kept, and one between two of them
// goes to the nearer, or the even one.
func TestQuantize(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	numbers := func(kind string) (all []float64) { // not negative, ascending
		switch kind {
		case "e4m3":
			for code := range 127 {
				all = append(all, float64(tensor.E4M3ToF32(byte(code))))
			}
		case "e5m2":
			for code := range 124 { // of the upper halves of float16
				e, m := code>>2, float64(code&3)
				if e == 0 {
					all = append(all, math.Ldexp(m/4, -14))
				} else {
					all = append(all, math.Ldexp(1+m/4, e-15))
				}
			}
		default:
			for k := range 128 {
				all = append(all, float64(k))
			}
		}
		return all
	}
	for _, kind := range []string{"e4m3", "e5m2", "int8"} {
		all := numbers(kind)
		x, want := []float64{math.Inf(1), math.Inf(-1), 1e300, 0}, []float64{all[len(all)-1], -all[len(all)-1], all[len(all)-1], 0}
		if kind == "int8" {
			want[1] = -128
		}
		add := func(v, w float64) { x, want = append(x, v, -v), append(want, w, -w) }
		for i, v := range all[:len(all)-1] {
			next, even := all[i+1], v
			if i%2 == 1 {
				even = next
			}
			mid := (v + next) / 2
			add(v, v)
			add(mid, even)
			add(math.Nextafter(mid, 0), v)
			add(math.Nextafter(mid, math.Inf(1)), next)
			add(v+(next-v)*0.49*r.Float64(), v)
		}
		in := node.Tensor[float64]{Data: x, B: 1, C: 1, N: len(x)}
		for i, got := range synth(t, flowtest.Node("Quantize", "kind", kind), len(x), in).Data {
			if got != want[i] {
				t.Errorf("%s: %v becomes %v, want %v", kind, x[i], got, want[i])
			}
		}
		if y := synth(t, flowtest.Node("Quantize", "kind", kind), 1, node.Tensor[float64]{Data: []float64{math.NaN()}, B: 1, C: 1, N: 1}); !math.IsNaN(y.Data[0]) {
			t.Errorf("%s: NaN becomes %v", kind, y.Data[0])
		}
	}
}

// TestStraightThrough: gradients of Quantize are those of its rule.
func TestStraightThrough(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 3))
	for kind, high := range map[string]float64{"e4m3": 448, "e5m2": 57344, "int8": 127} {
		const tokens = 300
		scale := 0.01 + r.Float64()
		n := flowtest.Node("Quantize", "kind", kind, "scale", scale)
		g := flowtest.NewRig[float64](t, signal.SynthTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, tokens)
		x, dy := flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, tokens), flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, tokens)
		for i := range x.Data {
			x.Data[i], dy.Data[i] = 2*scale*high*(2*r.Float64()-1), r.NormFloat64()
		}
		y := g.Forward(t, []node.Tensor[float64]{x}, []int{tokens})[0]
		dx, dp := g.Backward(t, []node.Tensor[float64]{dy})
		want, out := 0.0, 0
		for i, v := range x.Data {
			low := -high
			if kind == "int8" {
				low = -128
			}
			if v > scale*high || v < scale*low {
				out++
				if want += dy.Data[i] * y.Data[i] / scale; dx[0].Data[i] != 0 {
					t.Errorf("%s: the gradient of %v, which saturates, is %v", kind, v, dx[0].Data[i])
				}
				continue
			}
			want += dy.Data[i] * (y.Data[i] - v) / scale
			if dx[0].Data[i] != dy.Data[i] {
				t.Errorf("%s: the gradient of %v is %v, want %v", kind, v, dx[0].Data[i], dy.Data[i])
			}
		}
		if out == 0 || out == tokens || math.Abs(dp[0][0]-want) > 1e-9*high {
			t.Errorf("%s: %d of %d saturate; the gradient of the scale is %v, want %v", kind, out, tokens, dp[0][0], want)
		}
	}
}

// TestEmbeddingIndex: an index that names no row is an error of the call.
func TestEmbeddingIndex(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("Embedding", "table", flowtest.Ramp(1, 4, 2, 0, 7))
	for _, c := range []struct {
		index float32
		want  graph.Code
	}{{0, graph.Success}, {3, graph.Success}, {4, graph.InvalidArg}, {-1, graph.InvalidArg}, {1.5, graph.InvalidArg}, {float32(math.NaN()), graph.InvalidArg}, {1e30, graph.InvalidArg}} {
		g := flowtest.NewRig[float32](t, signal.SynthTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, 1)
		call := g.Call([]node.Tensor[float32]{{Data: []float32{c.index}, B: 1, C: 1, N: 1}}, 0, 1)
		if code := g.Inst.Forward(&call); code != c.want {
			t.Errorf("index %v: %v, want %v", c.index, code, c.want)
		} else if code == graph.Success && (call.Out[0].Data[0] != 2*c.index || call.Out[0].Data[1] != 2*c.index+1) {
			t.Errorf("index %v: %v", c.index, call.Out[0].Data)
		}
	}
}
