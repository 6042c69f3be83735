package nodetest_test

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/signal"
	"atenia/flow/node/nodetest"
)

// TestNode runs Check on one type, as a package of node types does, with
// parameters that cover its code.
func TestNode(t *testing.T) {
	nodetest.Check(t, signal.BasicTypes(), nodetest.Case{
		Node: nodetest.Node("Gain", "gain", 0.5),
		In:   []graph.Shape{{B: 1, C: 2}},
	})
}
