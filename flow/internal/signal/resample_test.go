package signal_test

import (
	"math"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	tensor "atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// TestResampleNodes checks rates up, down and both, with the tiers' taps and others.
func TestResampleNodes(t *testing.T) {
	ramp, node := flowtest.Ramp, flowtest.Node
	for name, n := range map[string]graph.Node{
		"up":       node("Upsample", "factor", 3, "tier", 60),
		"down":     node("Downsample", "factor", 4),
		"rational": node("Resample", "up", 3, "down", 2, "tier", 140),
		"identity": node("Resample"),
		"steep":    node("Resample", "up", 2, "down", 3, "tier", 120, "cutoff", 80),
		"taps":     node("Resample", "up", 2, "down", 3, "taps", ramp(1, 1, 11, -1, 1)),
		"few taps": node("Upsample", "factor", 3, "taps", ramp(1, 1, 2, -1, 1)),
		"own taps": node("Downsample", "factor", 2, "taps", ramp(1, 2, 5, -1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.CheckNode(t, signal.ResampleTypes(), flowtest.Case{Node: n, In: []graph.Shape{{B: 2, C: 2}}})
		})
	}
}

// TestSteep measures resamplers with a cutoff from their responses to impulses by Fourier transform, in float64: no
// frequency from the lower Nyquist on passes, and none in the pass band changes, by more than the tier says. The ripple
// of a Kaiser window is the same in both bands, so that 120 dB are 1e-6, 8.7e-6 dB.
func TestSteep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tier, cutoff, factor int }{{120, 90, 2}, {140, 90, 2}, {120, 95, 3}, {96, 80, 4}, {60, 50, 2}} {
		n := flowtest.Node("Upsample", "factor", c.factor, "tier", c.tier, "cutoff", c.cutoff)
		one, frames := graph.Shape{B: 1, C: 1}, 2000
		g := flowtest.NewRig[float64](t, signal.ResampleTypes(), &n, 48000, []graph.Shape{one}, frames)
		x := flowtest.NewTensor[float64](one, frames)
		x.Data[0] = 1
		h := g.Forward(t, []tensor.Tensor[float64]{x}, []int{frames})[0].Data
		fft := dsp.NewRealFFT[float64](1 << 15)
		long := make([]float64, fft.Len())
		copy(long, h)
		re, im := make([]float64, fft.Bins()), make([]float64, fft.Bins())
		fft.Forward(re, im, long)
		nyquist := float64(fft.Len()/2) / float64(c.factor)
		allowed := math.Pow(10, -float64(c.tier)/20)
		stop, ripple := 0.0, 0.0
		for k := range re {
			switch f, v := float64(k)/nyquist, math.Hypot(re[k], im[k])/float64(c.factor); {
			case f >= 1:
				stop = max(stop, v)
			case f <= float64(c.cutoff)/100:
				ripple = max(ripple, math.Abs(v-1))
			}
		}
		t.Logf("tier %d, cutoff %d %%, factor %d: %d taps, stop band %.1f dB, ripple %.2g dB", c.tier, c.cutoff, c.factor, len(signal.SteepTaps(signal.ResamplingTier(c.tier), c.cutoff, c.factor)), 20*math.Log10(stop), 20*math.Log10(1+ripple))
		if stop > allowed || ripple > allowed {
			t.Errorf("tier %d, cutoff %d %%, factor %d: stop band %v, ripple %v, want %v", c.tier, c.cutoff, c.factor, stop, ripple, allowed)
		}
	}
	bad := flowtest.Node("Resample", "up", 2, "cutoff", 99)
	if _, err := signal.ResampleTypes().Describe(&bad); err == nil {
		t.Error("a cutoff of 99 % is accepted")
	}
}

// TestAttenuation measures the attenuation of each tier's filter above one and a
// half times the lower rate's Nyquist frequency.
func TestAttenuation(t *testing.T) {
	t.Parallel()
	for _, tier := range []signal.ResamplingTier{60, 96, 120, 140} {
		h := signal.KaiserTaps(tier, 4)
		worst := 0.0
		for f := 0.125 * 1.5; f < .5; f += 1e-3 {
			re, im := 0.0, 0.0
			for i, v := range h {
				sin, cos := math.Sincos(2 * math.Pi * f * float64(i))
				re, im = re+v*cos, im+v*sin
			}
			worst = max(worst, math.Hypot(re, im))
		}
		if db := -20 * math.Log10(worst); db < float64(tier) {
			t.Errorf("tier %d: %.1f dB", tier, db)
		}
	}
}
