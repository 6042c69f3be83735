package biquad_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node/biquad"
	"atenia/flow/node/nodetest"
)

var rows = []graph.Shape{{B: 2, C: 3}}

// TestNodes checks every kind of filter with constant parameters and with
// parameters that move.
func TestNodes(t *testing.T) {
	ramp, node := nodetest.Ramp, nodetest.Node
	for _, kind := range []string{"lowpass", "highpass", "bandpass", "notch", "allpass", "peaking", "lowshelf", "highshelf"} {
		t.Run(kind, func(t *testing.T) {
			nodetest.Check(t, biquad.Types(), nodetest.Case{
				Node: node("Biquad", "kind", kind, "f0", ramp(1, 3, 1, 300, 9000), "q", 1.5, "gain_db", ramp(2, 1, 1, -6, 9)), In: rows,
			})
			nodetest.Check(t, biquad.Types(), nodetest.Case{
				Node: node("Biquad", "kind", kind, "f0", ramp(1, 3, 40, 9000, 400), "q", 1.5, "gain_db", ramp(2, 1, 40, -6, 9)), In: rows,
			})
		})
	}
	t.Run("coefficients", func(t *testing.T) {
		nodetest.Check(t, biquad.Types(), nodetest.Case{Node: node("Biquad", "kind", "coefficients", "b0", .7, "b1", -.3, "b2", ramp(2, 3, 1, -.5, .5), "a1", -1.2, "a2", .6), In: rows})
		nodetest.Check(t, biquad.Types(), nodetest.Case{Node: node("Biquad", "kind", "coefficients", "b0", .7, "b1", -.3, "b2", .1, "a1", -1.2, "a2", ramp(1, 1, 40, .5, .7)), In: rows})
	})
}
