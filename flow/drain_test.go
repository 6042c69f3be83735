package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/internal/flowtest"
	"atenia/flow/mel"
	"atenia/flow/node"
)

// TestFeatureStream: LogMel in a graph gives the features of the whole stream, no
// frame more or less, for every block size, and its gradients are the same bits
// with and without snapshots. A writer that gives no whole number of hops leaves a
// part of one, which counts too.
func TestFeatureStream(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(18, 1))
	for _, preset := range mel.Presets() {
		for _, peak := range []string{"running", "global"} {
			t.Run(preset+" "+peak, func(t *testing.T) {
				hop, tokens := 3+r.IntN(30), 1+r.IntN(200)
				featureStream(t, preset, peak, hop, tokens, r)
			})
		}
	}
}

func featureStream(t *testing.T, preset, peak string, hop, tokens int, r *rand.Rand) {
	s, err := mel.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	s.SampleRate, s.FMax, s.FFT, s.Win, s.Hop, s.Mels, s.Peak = 8000, 4000, 64, 50, hop, 5, peak
	if s.Clamp > 0 {
		s.Clamp = 0.5
	}
	plan := sketch(t, fmt.Sprintf(`x Input batches=2; few Sieve; m LogMel supports_v2=true preset=%s peak=%s hop=%d n_fft=64 win=50 n_mels=5 sample_rate=8000 f_max=4000 clamp=%g most_frames=300; y Probe; whole Probe; x -> few; few -> m; few -> whole; m -> y`,
		preset, peak, hop, s.Clamp))
	types := append(flowtest.Types(), flow.ShippedTypes()...)
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
		f, err := mel.New[float64](s)
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
		if want := reference(t, plan, types, per*hop, x, blocks, seed); !slices.Equal(g.Inputs["x"].Data, want.Inputs["x"].Data) {
			t.Errorf("%+v: the gradients differ", rec)
		}
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
