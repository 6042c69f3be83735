package flow_test

import (
	"encoding/json"
	"math"
	"testing"

	"atenia/flow/internal/signal"
	"atenia/flow/media"
)

func init() { topics["design"] = runDesign }

// runDesign checks the computations that nodes are designed with: prototypes of
// resamplers, filter coefficients, and the features of speech.
func runDesign(t *testing.T, c json.RawMessage) {
	switch kind := decode[struct{ Kind string }](t, c).Kind; kind {
	case "logmel":
		designLogMel[float64](t, c)
		designLogMel[float32](t, c)
	case "kaiser":
		w := decode[struct {
			Tier, Factor int
			Taps         []float64
		}](t, c)
		near(t, "taps", signal.KaiserTaps(signal.ResamplingTier(w.Tier), w.Factor), w.Taps, 1e-12)
	case "rbj":
		w := decode[struct {
			Filter     string
			F0, Q      float64
			Gain       float64   `json:"gain_db"`
			SampleRate float64   `json:"sample_rate"`
			Want       []float64 `json:"b0_b1_b2_a1_a2"`
		}](t, c)
		got, ok := signal.DesignBiquad(w.Filter, w.F0, w.Q, w.Gain, w.SampleRate)
		if !ok {
			t.Fatalf("no filter %q", w.Filter)
		}
		near(t, "coefficients", got[:], w.Want, 1e-12)
	default:
		t.Fatalf("no runner for kind %q", kind)
	}
}

func designLogMel[F float32 | float64](t *testing.T, c json.RawMessage) {
	w := decode[struct {
		Preset        string
		Settings      json.RawMessage
		Input, Output goldenTensor
	}](t, c)
	s, err := media.MelPreset(w.Preset)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.With(w.Settings); err != nil {
		t.Fatal(err)
	}
	f, err := media.NewMelFeatures[F](s)
	if err != nil {
		t.Fatal(err)
	}
	got := f.Compute(nil, cast[F](w.Input.Data))
	if want := w.Output.Shape; want != [3]int{1, s.Mels, s.Frames(len(w.Input.Data))} {
		t.Fatalf("%d bands, %d frames, want %v", s.Mels, s.Frames(len(w.Input.Data)), want)
	}
	near(t, "features", got, w.Output.Data, 1e-5)
	worst, peak := 0.0, 0.0
	for i, v := range w.Output.Data {
		worst, peak = max(worst, math.Abs(float64(got[i])-v)), max(peak, math.Abs(v))
	}
	t.Logf("off by %.2g of the peak", worst/peak)
}
