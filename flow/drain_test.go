package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/media"
	"atenia/flow/node"
)

// TestFeatureStream: LogMel in a graph gives the features of the whole stream, no
// frame more or less, for every block size, and its gradients are the same bits
// with and without snapshots, and those of differences. Its writer, which holds
// frames back too, gives no whole number of hops; the part of one that is left
// counts.
func TestFeatureStream(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(18, 1))
	for _, preset := range media.MelPresets() {
		for _, peak := range []string{"running", "global"} {
			t.Run(preset+" "+peak, func(t *testing.T) {
				hop, tokens := 3+r.IntN(30), 1+r.IntN(200)
				featureStream(t, preset, peak, hop, tokens, r)
			})
		}
	}
}

func featureStream(t *testing.T, preset, peak string, hop, tokens int, r *rand.Rand) {
	s, err := media.MelPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	s.SampleRate, s.FMax, s.FFT, s.Win, s.Hop, s.Mels, s.Peak = 8000, 4000, 64, 50, hop, 5, peak
	if s.Clamp > 0 {
		s.Clamp = 0.5
	}
	plan := sketch(t, fmt.Sprintf(`x Input batches=2; few LogMel supports_v2=true preset=torchaudio n_fft=8 win=8 hop=1 n_mels=1 sample_rate=8000 f_max=4000; m LogMel supports_v2=true preset=%s peak=%s hop=%d n_fft=64 win=50 n_mels=5 sample_rate=8000 f_max=4000 clamp=%g most_frames=300; y Probe; whole Probe; x -> few; few -> m; few -> whole; m -> y`,
		preset, peak, hop, s.Clamp))
	types := flow.ShippedTypes()
	x := noise[float64](r, 2, 1, hop*tokens)
	for _, rec := range []flow.Recording{{}, {Every: 3}, {Every: flow.EverySqrt}, {Slots: 3}} {
		per := 1 + r.IntN(tokens)
		blocks := (tokens + per - 1) / per
		sess := session[float64](t, plan, flow.Options{BlockFrames: per * hop, Training: true, Catalog: types}, nil)
		record, err := sess.Record(rec)
		if err != nil {
			t.Fatal(err)
		}
		out, err := sess.Run(map[string]node.Tensor[float64]{"x": x}, blocks)
		if err != nil {
			t.Fatal(err)
		}
		f, err := media.NewMelFeatures[float64](s)
		if err != nil {
			t.Fatal(err)
		}
		y, in := out["y"], out["whole"]
		for b := range 2 {
			frames := s.Frames(in.N)
			if y.N != frames {
				t.Fatalf("%d frames of %d samples, want %d", y.N, in.N, frames)
			}
			for k, v := range f.Compute(nil, in.Row(b)) {
				if got := y.Row(b*5 + k/frames)[k%frames]; got != v {
					t.Fatalf("blocks of %d: frame %d of band %d is %v, want %v", per*hop, k%frames, k/frames, got, v)
				}
			}
		}
		seed := map[string]node.Tensor[float64]{}
		seed["y"], seed["whole"] = noise[float64](rand.New(rand.NewPCG(9, 9)), 2, 5, y.N), noise[float64](rand.New(rand.NewPCG(9, 8)), 2, 1, in.N)
		g, err := record.Backward(seed, flow.Sweep{})
		if err != nil {
			t.Fatal(err)
		}
		if rec == (flow.Recording{}) {
			along(t, plan, types, per*hop, x, blocks, seed["y"], seed["whole"], g.Inputs["x"])
		}
		if want := reference(t, plan, types, per*hop, x, blocks, seed); !slices.Equal(g.Inputs["x"].Data, want.Inputs["x"].Data) {
			t.Errorf("%+v: the gradients differ", rec)
		}
	}
}

// along compares a gradient with a central difference in a random direction.
func along(t *testing.T, plan []byte, types node.Table, block int, x node.Tensor[float64], blocks int, y, whole, got node.Tensor[float64]) {
	t.Helper()
	const h = 1e-6
	r, sum, scale, values := rand.New(rand.NewPCG(3, 3)), 0.0, 0.0, [2]float64{}
	v := make([]float64, len(x.Data))
	for i := range v { // rows of the gradient are as long as the blocks that were fed
		v[i] = r.NormFloat64()
		d := got.Row(i / x.N)[i%x.N]
		sum += v[i] * d
		scale += d * d
	}
	for k, step := range []float64{h, -h} {
		moved := x
		moved.Data = slices.Clone(x.Data)
		for i := range v {
			moved.Data[i] += step * v[i]
		}
		out, err := session[float64](t, plan, flow.Options{BlockFrames: block, Catalog: types}, nil).Run(map[string]node.Tensor[float64]{"x": moved}, blocks)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range y.Data {
			values[k] += w * out["y"].Data[i]
		}
		for i, w := range whole.Data {
			values[k] += w * out["whole"].Data[i]
		}
	}
	if d := (values[0] - values[1]) / (2 * h); math.Abs(d-sum) > 1e-5*math.Sqrt(scale) {
		t.Errorf("derivative %.10g, difference %.10g", sum, d)
	}
}

// reference is the gradient when every call is kept.
func reference(t *testing.T, plan []byte, types node.Table, block int, x node.Tensor[float64], blocks int, seed map[string]node.Tensor[float64]) *flow.Gradients[float64] {
	t.Helper()
	s := session[float64](t, plan, flow.Options{BlockFrames: block, Training: true, Catalog: types}, nil)
	record, err := s.Record(flow.Recording{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(map[string]node.Tensor[float64]{"x": x}, blocks); err != nil {
		t.Fatal(err)
	}
	g, err := record.Backward(seed, flow.Sweep{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
