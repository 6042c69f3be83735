package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A sample is a node of one type with inputs that suit it.
type sample struct {
	params   []any
	channels []int // of the inputs; two by default
	below    int   // not zero: the inputs are integers below it
}

var features = []any{"n_fft", 64, "win", 64, "n_mels", 6, "sample_rate", 8000, "f_max", 4000, "hop", 20}

// samples holds nodes with parameters for types whose defaults test little.
// Other types run with their defaults.
var samples = map[string][]sample{
	"Input":             {{params: []any{"batches", 2, "channels", 2}}},
	"Constant":          {{params: []any{"value", .3, "batches", 2}}},
	"Gain":              {{params: []any{"gain", -.7}}},
	"Mix":               {{params: []any{"inputs", 3}, channels: []int{2, 1, 2}}},
	"Split":             {{params: []any{"outputs", 2}}},
	"Merge":             {{channels: []int{2, 1}}},
	"Matrix":            {{params: []any{"matrix", flowtest.Ramp(1, 3, 2, -1, 1)}}},
	"Linear":            {{params: []any{"matrix", flowtest.Ramp(1, 1, 2, -1, 1), "bias", .5}}},
	"Pan":               {{params: []any{"pan", .2}, channels: []int{1}}},
	"FIR":               {{params: []any{"taps", flowtest.Ramp(1, 2, 9, -1, 1)}}, {params: []any{"taps", flowtest.Ramp(1, 1, 99, -1, 1), "method", "partitioned"}}},
	"Convolver":         {{params: []any{"taps", flowtest.Ramp(1, 1, 200, -1, 1), "partition", 32}}},
	"ConvolutionReverb": {{params: []any{"taps", flowtest.Ramp(1, 2, 900, -1, 1), "partition", 4, "dry", .5}}},
	"Resample":          {{params: []any{"up", 3, "down", 2}}},
	"Downsample":        {{params: []any{"factor", 3, "tier", 60}}},
	"Delay":             {{params: []any{"delay", 70}}, {params: []any{"delay", 3.3, "interpolation", "linear"}}, {params: []any{"delay", 300.6, "interpolation", "lagrange"}}},
	"Biquad":            {{}, {params: []any{"kind", "highshelf", "gain_db", -7.5}}, {params: []any{"kind", "coefficients", "a1", -.5}}},
	"SVF":               {{params: []any{"kind", "bandpass"}}},
	"WaveShaper":        {{params: []any{"drive", 2.0}}, {params: []any{"kind", "soft", "antialiasing", "adaa"}}},
	"Compressor":        {{params: []any{"lookahead", 5}}, {params: []any{"sidechain", "yes"}, channels: []int{2, 1}}},
	"Limiter":           {{}, {params: []any{"true_peak", "yes"}}},
	"Meter":             {{params: []any{"hop", 48}}},
	"Loudness":          {{params: []any{"hop", 48}}},
	"VAD":               {{params: []any{"n_fft", 96, "hop", 48}}},
	"Conv1d":            {{params: []any{"weight", flowtest.Ramp(3, 2, 4, -1, 1), "stride", 2}}},
	"GRU":               {{params: []any{"weight_ih", flowtest.Ramp(1, 6, 2, -1, 1), "weight_hh", flowtest.Ramp(1, 6, 2, 1, -1)}}},
	"SquaredError":      {{channels: []int{2, 2}}},
	"SpectralLoss":      {{params: []any{"n_fft", 20, "hop", 6}, channels: []int{2, 2}}},
	"FFT":               {{params: []any{"n_fft", 8}}},
	"IFFT":              {{params: []any{"n_fft", 8}, channels: []int{10}}},
	"STFT":              {{params: []any{"n_fft", 20, "hop", 6}}},
	"ISTFT":             {{params: []any{"n_fft", 20, "hop", 6}, channels: []int{22}}},
	"Mel":               {{params: features[:10], channels: []int{66}}},
	"LogMel":            {{params: features}},
	"MFCC":              {{params: append([]any{"n_mfcc", 4}, features...)}},
	"LFO":               {{params: []any{"kind", "triangle"}}},
	"Noise":             {{params: []any{"seed", 3, "channels", 2}}, {params: []any{"kind", "pink"}}},
	"Oscillator":        {{params: []any{"kind", "saw", "channels", 2}}},
	"OversampledOsc":    {{params: []any{"kind", "square"}}},
	"HarmonicSynth":     {{params: []any{"hop", 5}, channels: []int{1, 4}}},
	"FilteredNoise":     {{params: []any{"hop", 7, "seed", 2}, channels: []int{5}}},
	"Quantize":          {{params: []any{"kind", "e5m2", "scale", .3}}, {params: []any{"kind", "int8", "scale", .01}}},
	"Embedding":         {{params: []any{"table", flowtest.Ramp(1, 6, 3, -1, 1)}, below: 6}},
}

// TestShippedVersions runs every type by the first and by the second version of the
// interface: the outputs are the same to the bit, and so is the heat, whether
// the host sums it or the node.
func TestShippedVersions(t *testing.T) {
	t.Parallel()
	ran := map[string]int{} // calls by type and version
	t.Run("A07", func(t *testing.T) {
		for _, typ := range flow.ShippedTypes() {
			list := samples[typ.Name]
			if list == nil {
				list = []sample{{}}
			}
			for i, s := range list {
				for _, frames := range []int{1, 7, 64, 256} {
					t.Run(fmt.Sprint(typ.Name, i, "/", frames), func(t *testing.T) {
						versions[float32](t, typ.Name, &s, frames, ran)
						versions[float64](t, typ.Name, &s, frames, ran)
					})
				}
			}
		}
	})
	t.Run("A51", func(t *testing.T) {
		for _, typ := range flow.ShippedTypes() {
			for _, version := range []string{" 1", " 2"} {
				if ran[typ.Name+version] == 0 {
					t.Errorf("%s is in no test of version%s", typ.Name, version)
				}
			}
		}
		for typ := range samples {
			if _, ok := flow.ShippedTypes().Lookup(typ); !ok {
				t.Errorf("there is no type %s", typ)
			}
		}
	})
}

// versions runs blocks of the given frames, or of a token where that is more.
func versions[F node.Float](t *testing.T, typ string, s *sample, frames int, ran map[string]int) {
	const heat = .25
	blocks := min(50, max(12, 2048/frames)) // at least twice the longest memory
	if await.Long() {
		blocks = 200
	}
	n := flowtest.Node(typ, append([]any{"thermo.heat", heat}, s.params...)...)
	if typ == "Oscillator" || typ == "OversampledOsc" {
		n.OversampleRatio = 2
	}
	spec, err := flow.ShippedTypes().Describe(&n)
	if err != nil {
		t.Fatal(err)
	}
	tokens := frames
	for _, cons := range spec.Cons {
		tokens = max(1, frames/cons)
	}
	in := make([]graph.Shape, len(spec.Ins))
	for i := range in {
		in[i] = graph.Shape{B: 2, C: 2}
		if s.channels != nil {
			in[i].C = s.channels[i]
		}
	}
	second := flowtest.NewRig[F](t, flow.ShippedTypes(), &n, 48000, in, tokens)
	old := n
	old.SupportsV2 = false
	first := flowtest.NewRig[F](t, flow.ShippedTypes(), &old, 48000, in, tokens)
	r := rand.New(rand.NewPCG(uint64(frames), 3))
	streams := make([]node.Tensor[F], len(in))
	for i, shape := range in {
		streams[i] = flowtest.NewTensor[F](shape, tokens*second.Node.Spec.Cons[i])
	}
	a, b := second.Call(streams, 0, tokens), first.Call(streams, 0, tokens)
	for k := range blocks {
		for i := range a.In {
			for e := range a.In[i].Data {
				a.In[i].Data[e] = F(r.NormFloat64())
				if s.below > 0 {
					a.In[i].Data[e] = F(r.IntN(s.below))
				}
			}
			copy(b.In[i].Data, a.In[i].Data)
		}
		a.Frame0, b.Frame0 = int64(k*tokens), int64(k*tokens)
		if code := min(second.Inst.Forward(&a), first.Inst.Forward(&b)); code != graph.Success {
			t.Fatal(code)
		}
		ran[typ+" 1"], ran[typ+" 2"] = ran[typ+" 1"]+1, ran[typ+" 2"]+1
		for i := range a.Out {
			if !slices.Equal(a.Out[i].Data, b.Out[i].Data) {
				t.Fatalf("block %d, output %d: the versions differ", k, i)
			}
		}
		if want := heat * float64(tokens); a.Heat != want || b.Heat != 0 || math.Abs(node.HeatOf(&b)-want) > 1e-9 {
			t.Fatalf("heat %g by the node, %g by the host; the first version reported %g", a.Heat, node.HeatOf(&b), b.Heat)
		}
	}
}
