package flowtest_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
)

// TestNode runs Check on one type, as a package of node types does, with
// parameters that cover its code.
func TestNode(t *testing.T) {
	flowtest.CheckNode(t, signal.BasicTypes(), flowtest.Case{
		Node: flowtest.Node("Gain", "gain", 0.5),
		In:   []graph.Shape{{B: 1, C: 2}},
	})
}
