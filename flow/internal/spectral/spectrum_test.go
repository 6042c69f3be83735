package spectral_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/spectral"
	"atenia/flow/media"
	"atenia/flow/node"
)

var mono = []graph.Shape{{B: 1, C: 1}}

// TestNodes checks every type of the table.
func TestNodes(t *testing.T) {
	n := flowtest.Node
	stereo := []graph.Shape{{B: 2, C: 2}}
	spectra := func(bins int) []graph.Shape { return []graph.Shape{{B: 2, C: 2 * 2 * bins}} }
	small := []any{"n_fft", 64, "win", 64, "hop", 20, "n_mels", 6, "sample_rate", 8000, "f_max", 4000}
	for name, c := range map[string]flowtest.Case{
		"fft":             {Node: n("FFT", "n_fft", 8), In: stereo},
		"fft/odd":         {Node: n("FFT", "n_fft", 7), In: stereo},
		"fft/one":         {Node: n("FFT", "n_fft", 1), In: stereo},
		"ifft":            {Node: n("IFFT", "n_fft", 8), In: spectra(5)},
		"ifft/odd":        {Node: n("IFFT", "n_fft", 7), In: spectra(4)},
		"stft":            {Node: n("STFT", "n_fft", 20, "hop", 6), In: stereo},
		"stft/win":        {Node: n("STFT", "n_fft", 16, "win", 10), In: stereo},
		"stft/sparse":     {Node: n("STFT", "n_fft", 6, "hop", 10, "window", "rectangle"), In: stereo},
		"istft":           {Node: n("ISTFT", "n_fft", 20, "hop", 6), In: spectra(11)},
		"istft/quarter":   {Node: n("ISTFT", "n_fft", 16), In: spectra(9)},
		"mel":             {Node: n("Mel", small...), In: spectra(33)},
		"mel/power":       {Node: n("Mel", append(small, "input", "power")...), In: []graph.Shape{{B: 2, C: 33}}},
		"loss":            {Node: n("SpectralLoss", "n_fft", 20, "hop", 6), In: []graph.Shape{stereo[0], stereo[0]}},
		"loss/sparse":     {Node: n("SpectralLoss", "n_fft", 7, "hop", 9, "window", "rectangle"), In: []graph.Shape{stereo[0], stereo[0]}},
		"loss/scales":     {Node: n("SpectralLoss", "sizes", "24, 13 8", "hop", 5), In: []graph.Shape{stereo[0], stereo[0]}},
		"loss/scales/abs": {Node: n("SpectralLoss", "sizes", "32 16 4", "distance", "absolute"), In: []graph.Shape{stereo[0], stereo[0]}},
		"loss/scales/odd": {Node: n("SpectralLoss", "sizes", "21 40", "win", 17), In: []graph.Shape{stereo[0], stereo[0]}},
		"loss/long":       {Node: n("SpectralLoss", "sizes", "6 9", "hop", 20), In: []graph.Shape{stereo[0], stereo[0]}},
		"logmel":          {Node: n("LogMel", small...), In: stereo, Tokens: 12},
		"logmel/kaldi":    {Node: n("LogMel", append(small, "preset", "kaldi")...), In: stereo, Tokens: 12},
		"logmel/librosa":  {Node: n("LogMel", append(small, "preset", "librosa")...), In: stereo, Tokens: 12},
		"logmel/global":   {Node: n("LogMel", append(small, "peak", "global", "clamp", 0.5, "most_frames", 300)...), In: stereo, Tokens: 12},
		"logmel/clamp":    {Node: n("LogMel", append(small, "clamp", 0.5)...), In: stereo, Tokens: 12},
		"logmel/hop":      {Node: n("LogMel", append(small, "hop", 16)...), In: stereo, Tokens: 12},
		"mfcc":            {Node: n("MFCC", append(small, "preset", "torchaudio", "n_mfcc", 4)...), In: stereo, Tokens: 12},
	} {
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, spectral.Types(), c) })
	}
}

// TestErrors: settings and shapes that do not make sense name their setting.
func TestErrors(t *testing.T) {
	t.Parallel()
	for path, n := range map[string]graph.Node{
		"$.nodes[0].params.hop":    flowtest.Node("ISTFT", "n_fft", 16, "hop", 16),
		"$.nodes[0].params.preset": flowtest.Node("LogMel", "preset", "wisper"),
		"$.nodes[0].params.n_mels": flowtest.Node("LogMel", "n_mels", 0),
		"$.nodes[0].params.scale":  flowtest.Node("Mel", "scale", "bark"),
		"$.nodes[0].params.nmels":  flowtest.Node("MFCC", "nmels", 3),
		"$.nodes[0].params.n_mfcc": flowtest.Node("MFCC", "n_mfcc", 81),
		"$.nodes[0].params.sizes":  flowtest.Node("SpectralLoss", "sizes", "64 x"),
		"$.nodes[0].params.floor":  flowtest.Node("LogMel", "floor", flowtest.Ramp(1, 1, 2, 1, 2)),
	} {
		_, err := spectral.Types().Describe(&n)
		if e, ok := err.(*graph.Error); !ok || e.Path != path || e.Code != graph.Malformed {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, n := range []graph.Node{flowtest.Node("IFFT", "n_fft", 8), flowtest.Node("Mel")} {
		if _, err := flowtest.Link(spectral.Types(), &n, []graph.Shape{{B: 1, C: 7}}, 4); err == nil {
			t.Errorf("%s takes 7 channels", n.Type)
		}
	}
}

func signal(n int) node.Tensor[float64] {
	r := rand.New(rand.NewPCG(1, 1))
	x := flowtest.NewTensor[float64](mono[0], n)
	for i := range x.Data {
		x.Data[i] = math.Sin(float64(i)*0.2) + 0.1*r.NormFloat64()
	}
	return x
}

func run(t *testing.T, n graph.Node, in []graph.Shape, x node.Tensor[float64], tokens int) node.Tensor[float64] {
	t.Helper()
	g := flowtest.NewRig[float64](t, spectral.Types(), &n, 48000, in, tokens)
	return g.Forward(t, []node.Tensor[float64]{x}, []int{tokens})[0]
}

// TestInverse: a transform and its inverse reconstruct the signal, n_fft - hop
// frames late.
func TestInverse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		forward, back string
		settings      []any
		hop, late     int
	}{
		{"STFT", "ISTFT", []any{"n_fft", 32, "hop", 12}, 12, 20},
		{"STFT", "ISTFT", []any{"n_fft", 45, "win", 31, "hop", 9}, 9, 36},
		{"FFT", "IFFT", []any{"n_fft", 30}, 30, 0},
	} {
		x := signal(c.hop * 20)
		y := run(t, flowtest.Node(c.forward, c.settings...), mono, x, 20)
		z := run(t, flowtest.Node(c.back, c.settings...), []graph.Shape{{B: 1, C: y.C}}, y, 20)
		for i := range x.N {
			want := 0.0
			if i >= c.late {
				want = x.Data[i-c.late]
			}
			if math.Abs(z.Data[i]-want) > 1e-13 {
				t.Fatalf("%s %v: frame %d is %v, want %v", c.back, c.settings, i, z.Data[i], want)
			}
		}
	}
}

// TestFeatures: the nodes compute the features of package media to the bit: as
// many frames, no other before them, whatever the setting of the maximum.
func TestFeatures(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for _, preset := range media.MelPresets() {
		for _, peak := range []string{"running", "global"} {
			for range 3 {
				s, err := media.MelPreset(preset)
				if err != nil {
					t.Fatal(err)
				}
				s.Peak, s.Hop, s.Clamp = peak, s.Hop+r.IntN(40), min(s.Clamp, 0.5)
				tokens := 1 + r.IntN(12)
				x := signal(s.Hop * tokens)
				f, err := media.NewMelFeatures[float64](s)
				if err != nil {
					t.Fatal(err)
				}
				want, frames := f.Compute(nil, x.Data), s.Frames(x.N)
				settings := []any{"preset", preset, "peak", peak, "hop", s.Hop, "most_frames", 50, "clamp", s.Clamp}
				y := drained(t, flowtest.Node("LogMel", settings...), x, tokens)
				cep := drained(t, flowtest.Node("MFCC", append(settings, "n_mfcc", 5)...), x, tokens)
				if y.C != s.Mels || y.N != frames || cep.C != 5 || cep.N != frames {
					t.Fatalf("%s, %d tokens: [%d, %d] levels and [%d, %d] coefficients of %d frames", preset, tokens, y.C, y.N, cep.C, cep.N, frames)
				}
				for i, v := range want {
					if y.Data[i] != v {
						t.Fatalf("%s %s, %d tokens of %d: band %d of frame %d is %v, want %v", preset, peak, tokens, s.Hop, i/frames, i%frames, y.Data[i], v)
					}
				}
				for i, v := range media.Cepstrum(nil, want, 5, s.Mels) {
					if math.Abs(cep.Data[i]-v) > 1e-12*max(1, math.Abs(v)) {
						t.Fatalf("%s: coefficient %d is %v, want %v", preset, i, cep.Data[i], v)
					}
				}
			}
		}
	}
}

// drained is run, with calls of random lengths, and what comes at the end of the stream.
func drained(t *testing.T, n graph.Node, x node.Tensor[float64], tokens int) node.Tensor[float64] {
	t.Helper()
	g := flowtest.NewRig[float64](t, spectral.Types(), &n, 48000, mono, tokens)
	r := rand.New(rand.NewPCG(uint64(tokens), 9))
	var cuts []int
	for left := tokens; left > 0; left -= cuts[len(cuts)-1] {
		cuts = append(cuts, 1+r.IntN(left))
	}
	g.Forward(t, []node.Tensor[float64]{x}, cuts)
	return g.Drain(t, 1+r.IntN(tokens))[0]
}

// TestMel: a spectrum's energies are those of its powers, and an STFT with the
// window of a preset gives the energies that package media takes logarithms of.
func TestMel(t *testing.T) {
	t.Parallel()
	x := signal(400 * 4)
	y := run(t, flowtest.Node("STFT", "n_fft", 400, "hop", 400), mono, x, 4)
	e := run(t, flowtest.Node("Mel", "preset", "torchaudio"), []graph.Shape{{B: 1, C: y.C}}, y, 4)
	s, err := media.MelPreset("torchaudio")
	if err != nil {
		t.Fatal(err)
	}
	s.Pad, s.Hop, s.Log, s.Floor = "none", 400, "ln", 1e-30
	f, err := media.NewMelFeatures[float64](s)
	if err != nil {
		t.Fatal(err)
	}
	want := f.Compute(nil, x.Data)
	for i, v := range e.Data {
		if w := math.Exp(want[i]); math.Abs(v-w) > 1e-10*(w+1e-3) {
			t.Fatalf("energy %d is %v, want %v", i, v, w)
		}
	}
}

// TestLoss: of equal signals it is zero; of one twice as loud as the other, the
// square of ln 2 and the mean squared magnitude.
func TestLoss(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("SpectralLoss", "n_fft", 32, "hop", 32, "window", "rectangle")
	x := signal(64)
	double := signal(64)
	for i := range double.Data {
		double.Data[i] *= 2
	}
	y := run(t, flowtest.Node("FFT", "n_fft", 32), mono, x, 2)
	for i, target := range []node.Tensor[float64]{x, double} {
		g := flowtest.NewRig[float64](t, spectral.Types(), &n, 48000, []graph.Shape{mono[0], mono[0]}, 2)
		got := g.Forward(t, []node.Tensor[float64]{x, target}, []int{2})[0].Data[1]
		want := 0.0
		if i == 1 {
			for k := range 17 {
				m := math.Hypot(y.Row(k)[1], y.Row(17 + k)[1])
				want += (m*m + math.Ln2*math.Ln2) / 17
			}
		}
		if math.Abs(got-want) > 1e-2 {
			t.Errorf("loss %v, want %v", got, want)
		}
	}
}

// TestScales: the loss of several sizes is the sum of the losses of each, where
// they have the same hop.
func TestScales(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		hop, tokens, distance := 3+r.IntN(30), 1+r.IntN(8), []string{"squared", "absolute"}[r.IntN(2)]
		a, b := 2+r.IntN(60), 2+r.IntN(60)
		x, target := signal(hop*tokens), signal(hop*tokens)
		for i := range target.Data {
			target.Data[i] = r.NormFloat64()
		}
		of := func(settings ...any) []float64 {
			n := flowtest.Node("SpectralLoss", append(settings, "hop", hop, "distance", distance)...)
			g := flowtest.NewRig[float64](t, spectral.Types(), &n, 48000, []graph.Shape{mono[0], mono[0]}, tokens)
			return g.Forward(t, []node.Tensor[float64]{x, target}, []int{tokens})[0].Data
		}
		both, one, two := of("sizes", fmt.Sprintf("%d,%d", a, b)), of("n_fft", a), of("n_fft", b)
		for i, v := range both {
			if want := one[i] + two[i]; math.Abs(v-want) > 1e-12*math.Abs(want) {
				t.Fatalf("sizes %d and %d, hop %d: token %d is %v, want %v", a, b, hop, i, v, want)
			}
		}
	}
	// A short frame's loss counts as often as a token has such frames, in the mean.
	n := flowtest.Node("SpectralLoss", "sizes", "64 16", "window", "rectangle")
	small := flowtest.Node("SpectralLoss", "n_fft", 16, "window", "rectangle")
	large := flowtest.Node("SpectralLoss", "n_fft", 64, "window", "rectangle")
	x, zero := signal(64), flowtest.NewTensor[float64](mono[0], 64)
	of := func(n graph.Node, tokens int) []float64 {
		g := flowtest.NewRig[float64](t, spectral.Types(), &n, 48000, []graph.Shape{mono[0], mono[0]}, tokens)
		return g.Forward(t, []node.Tensor[float64]{x, zero}, []int{tokens})[0].Data
	}
	both, long, short := of(n, 4), of(large, 4), of(small, 16)
	for i, v := range both {
		want := long[i] + (short[4*i]+short[4*i+1]+short[4*i+2]+short[4*i+3])/4
		if math.Abs(v-want) > 1e-12*want {
			t.Fatalf("token %d is %v, want %v", i, v, want)
		}
	}
}

// Benchmark computes the features of a hop of sound.
func Benchmark(b *testing.B) {
	for name, n := range map[string]graph.Node{
		"stft/512":       flowtest.Node("STFT"),
		"istft/512":      flowtest.Node("ISTFT"),
		"logmel/whisper": flowtest.Node("LogMel"),
	} {
		b.Run(name, func(b *testing.B) {
			in := mono
			if n.Type == "ISTFT" {
				in = []graph.Shape{{B: 1, C: 514}}
			}
			g := flowtest.NewRig[float32](b, spectral.Types(), &n, 16000, in, 1)
			call := g.Call([]node.Tensor[float32]{flowtest.NewTensor[float32](in[0], g.Node.Spec.Cons[0])}, 0, 1)
			for b.Loop() {
				g.Inst.Forward(&call)
			}
		})
	}
}

func Example() {
	for _, p := range spectral.Types() {
		fmt.Println(p.Name, p.Adjoint)
	}
	// Output:
	// FFT true
	// IFFT true
	// STFT true
	// ISTFT true
	// Mel true
	// SpectralLoss true
	// LogMel true
	// MFCC true
}
