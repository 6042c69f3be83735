package delay_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node/delay"
	"atenia/flow/node/nodetest"
)

// TestNodes checks every interpolation with delays that stand and move.
func TestNodes(t *testing.T) {
	ramp, node := nodetest.Ramp, nodetest.Node
	for _, how := range []string{"none", "linear", "lagrange"} {
		for name, d := range map[string]graph.Tensor{
			"short": ramp(1, 2, 1, .3, .7), "long": ramp(2, 1, 1, 37.3, 70.6), "moving": ramp(1, 2, 40, .2, 11.3), "back": ramp(1, 1, 40, 50.7, 1.2),
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				nodetest.Check(t, delay.Types(), nodetest.Case{
					Node: node("Delay", "interpolation", how, "delay", d), In: []graph.Shape{{B: 2, C: 2}}, Tokens: 40,
				})
			})
		}
	}
}
