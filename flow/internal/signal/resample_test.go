package signal_test

import (
	"math"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/signal"
	"atenia/flow/node/nodetest"
)

// TestResampleNodes checks rates up, down and both, with the tiers' taps and others.
func TestResampleNodes(t *testing.T) {
	ramp, node := nodetest.Ramp, nodetest.Node
	for name, n := range map[string]graph.Node{
		"up":       node("Upsample", "factor", 3, "tier", 60),
		"down":     node("Downsample", "factor", 4),
		"rational": node("Resample", "up", 3, "down", 2, "tier", 140),
		"identity": node("Resample"),
		"taps":     node("Resample", "up", 2, "down", 3, "taps", ramp(1, 1, 11, -1, 1)),
		"few taps": node("Upsample", "factor", 3, "taps", ramp(1, 1, 2, -1, 1)),
		"own taps": node("Downsample", "factor", 2, "taps", ramp(1, 2, 5, -1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			nodetest.Check(t, signal.ResampleTypes(), nodetest.Case{Node: n, In: []graph.Shape{{B: 2, C: 2}}})
		})
	}
}

// TestAttenuation measures the attenuation of each tier's filter above one and a
// half times the lower rate's Nyquist frequency.
func TestAttenuation(t *testing.T) {
	t.Parallel()
	for _, tier := range []signal.ResamplingTier{60, 96, 140} {
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
