package signal_test

import (
	"math"
	"math/cmplx"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

var rows = []graph.Shape{{B: 2, C: 3}}

// TestBiquadNodes checks every kind of filter with constant parameters and with
// parameters that move.
func TestBiquadNodes(t *testing.T) {
	ramp, plan := flowtest.Ramp, flowtest.Node
	for _, kind := range []string{"lowpass", "highpass", "bandpass", "notch", "allpass", "peaking", "lowshelf", "highshelf"} {
		t.Run(kind, func(t *testing.T) {
			flowtest.CheckNode(t, signal.BiquadTypes(), flowtest.Case{
				Node: plan("Biquad", "kind", kind, "f0", ramp(1, 3, 1, 300, 9000), "q", 1.5, "gain_db", ramp(2, 1, 1, -6, 9)), In: rows,
			})
			flowtest.CheckNode(t, signal.BiquadTypes(), flowtest.Case{
				Node: plan("Biquad", "kind", kind, "f0", ramp(1, 3, 40, 9000, 400), "q", 1.5, "gain_db", ramp(2, 1, 40, -6, 9)), In: rows,
			})
		})
	}
	t.Run("coefficients", func(t *testing.T) {
		flowtest.CheckNode(t, signal.BiquadTypes(), flowtest.Case{Node: plan("Biquad", "kind", "coefficients", "b0", .7, "b1", -.3, "b2", ramp(2, 3, 1, -.5, .5), "a1", -1.2, "a2", .6), In: rows})
		flowtest.CheckNode(t, signal.BiquadTypes(), flowtest.Case{Node: plan("Biquad", "kind", "coefficients", "b0", .7, "b1", -.3, "b2", .1, "a1", -1.2, "a2", ramp(1, 1, 40, .5, .7)), In: rows})
	})
}

// TestFilterValues compares a low-pass of 1 kHz at 48 kHz with published figures:
// coefficients, impulse response, gain.
func TestFilterValues(t *testing.T) {
	t.Parallel()
	t.Run("A60", func(t *testing.T) {
		c, _ := signal.DesignBiquad("lowpass", 1000, math.Sqrt(.5), 0, 48000)
		near := func(what string, got, want, tol float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tol) {
				t.Errorf("%s: %.15g, want %.15g", what, got, want)
			}
		}
		for i, want := range []float64{.00391612666055, .00783225332109, .00391612666055, -1.815341082705, .831005589347} {
			near("coefficient", c[i], want, 1e-12)
		}
		g := flowtest.NewRig[float64](t, signal.BiquadTypes(), new(flowtest.Node("Biquad")), 48000, []graph.Shape{{B: 1, C: 1}}, 64)
		x := flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, 64)
		x.Data[0] = 1
		y := g.Forward(t, []node.Tensor[float64]{x}, []int{64})[0].Data
		for i, want := range []float64{.00391612666, .0149413589, .0277854662, .0380237455} {
			near("impulse response", y[i], want, 5e-11)
		}
		gain := func(hz float64) float64 {
			z := cmplx.Exp(complex(0, -2*math.Pi*hz/48000))
			b := complex(c[0], 0) + z*complex(c[1], 0) + z*z*complex(c[2], 0)
			a := 1 + z*complex(c[3], 0) + z*z*complex(c[4], 0)
			return 20 * math.Log10(cmplx.Abs(b/a))
		}
		near("dB at 1 kHz", gain(1000), -3.0103, 1e-4)
		near("dB at 10 kHz", gain(10000), -42.738, 1e-3)
	})
}

// TestBiquadFused checks filters of all kinds side by side.
func TestBiquadFused(t *testing.T) {
	var nodes []graph.Node
	for i := range 19 {
		nodes = append(nodes, flowtest.Node("Biquad", "kind", "peaking", "f0", 100*float64(i+1), "gain_db", float64(i-9)))
	}
	nodes = append(nodes, flowtest.Node("Biquad", "kind", "coefficients", "b0", .5, "a1", -.5))
	flowtest.Fused(t, signal.BiquadTypes(), []graph.Shape{{B: 1, C: 1}}, nodes...)
	flowtest.Fused(t, signal.BiquadTypes(), rows, nodes...)
}
