package signal_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
)

// TestNodes checks every type of the table.
func TestNodes(t *testing.T) {
	ramp, node := flowtest.Ramp, flowtest.Node
	stereo, mono := graph.Shape{B: 2, C: 2}, graph.Shape{B: 2, C: 1}
	for name, c := range map[string]flowtest.Case{
		"constant":        {Node: node("Constant", "value", .25, "channels", 2)},
		"constant/framed": {Node: node("Constant", "value", ramp(1, 2, 40, -1, 1), "batches", 2)},
		"gain":            {Node: node("Gain", "gain", .5), In: []graph.Shape{stereo}},
		"gain/channels":   {Node: node("Gain", "gain", ramp(1, 2, 1, -1, 2)), In: []graph.Shape{stereo}},
		"gain/framed":     {Node: node("Gain", "gain", ramp(2, 1, 40, -1, 2), "thermo.heat", ramp(1, 1, 40, 0, 1)), In: []graph.Shape{stereo}},
		"mix":             {Node: node("Mix", "inputs", 3), In: []graph.Shape{mono, stereo, stereo}},
		"mix/one":         {Node: node("Mix", "inputs", 1), In: []graph.Shape{stereo}},
		"split":           {Node: node("Split", "outputs", 2), In: []graph.Shape{stereo}},
		"merge":           {Node: node("Merge", "inputs", 3), In: []graph.Shape{stereo, mono, stereo}},
		"matrix":          {Node: node("Matrix", "matrix", ramp(1, 3, 2, -1, 1)), In: []graph.Shape{stereo}},
		"linear":          {Node: node("Linear", "matrix", ramp(1, 3, 2, -1, 1), "bias", ramp(1, 3, 1, 0, 1)), In: []graph.Shape{stereo}},
		"pan":             {Node: node("Pan", "pan", .3), In: []graph.Shape{mono}},
		"pan/framed":      {Node: node("Pan", "pan", ramp(1, 1, 40, -1, 1)), In: []graph.Shape{mono}},
	} {
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.BasicTypes(), c) })
	}
}

// TestFused checks gains side by side.
func TestFused(t *testing.T) {
	flowtest.Fused(t, signal.BasicTypes(), []graph.Shape{{B: 2, C: 2}},
		flowtest.Node("Gain", "gain", .5), flowtest.Node("Gain", "gain", flowtest.Ramp(1, 2, 1, -1, 2)), flowtest.Node("Gain"))
}
