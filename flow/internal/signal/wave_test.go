package signal_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
)

// TestWaveNodes checks every wave, plain, oversampled and modulated.
func TestWaveNodes(t *testing.T) {
	ramp, node := flowtest.Ramp, flowtest.Node
	for _, kind := range []string{"sine", "saw", "square", "triangle"} {
		for _, typ := range []string{"Oscillator", "OversampledOsc"} {
			for name, frequency := range map[string]graph.Tensor{"still": ramp(1, 2, 1, 2345.6, 4321), "moving": ramp(1, 1, 40, 5123, -977)} {
				t.Run(typ+"/"+kind+"/"+name, func(t *testing.T) {
					n := node(typ, "kind", kind, "batches", 2, "channels", 2, "frequency_hz", frequency, "amplitude", ramp(2, 1, 40, -1, 1.5), "phase", .17)
					for _, n.OversampleRatio = range []int{1, 4} {
						flowtest.CheckNode(t, signal.WaveTypes(), flowtest.Case{Node: n, Tolerance: 1e-5})
					}
				})
			}
		}
	}
}
