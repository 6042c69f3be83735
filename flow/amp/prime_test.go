//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// TestPriming: the call without frames, before the first snapshot, has the plan's values of the parameters, in this
// process and in a separate one.
func TestPriming(t *testing.T) {
	l := open(t, amp.Options{})
	_, there := start(t, nodes(t), amp.ProcessConfig{})
	r := rand.New(rand.NewPCG(7, 8))
	primed[float32](t, l.Types(), r)
	primed[float64](t, l.Types(), r)
	if said := kinds(l); !slices.Contains(said, "made without frames") || slices.Contains(said, "made by frames") {
		t.Errorf("the library logged %q", said)
	}
	primed[float32](t, there, r)
	primed[float64](t, there, r)
}

func primed[F node.Float](t *testing.T, types node.Table, r *rand.Rand) {
	t.Helper()
	for range 5 {
		p, q := 2+r.Float64(), r.Float64()
		g := isolateRig[F](t, types, flowtest.Node("Latch.c", "p", p, "q", q))
		g.Inst.(node.Stateful[F]).StateBytes()
		c := block(g, F(1), 3)
		if code := g.Inst.Forward(c); code != graph.Success || c.Out[0].Data[0] != F(p) || c.Out[0].Data[1] != F(3)*F(p) && c.Out[0].Data[1] != F(3*float64(F(p))) {
			t.Errorf("%v, %v: want %g times the input", code, c.Out[0].Data[:2], p)
		}
	}
	g := isolateRig[F](t, types, flowtest.Node("Latch.c"))
	g.Inst.(node.Stateful[F]).StateBytes()
	if c := block(g, F(5)); g.Inst.Forward(c) != graph.Success || c.Out[0].Data[0] != 5 {
		t.Errorf("%v without a parameter, want 5: it is absent", c.Out[0].Data[0])
	}
}
