package flow

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// TestWideSweep: gradients of random graphs are the same bits on one, two and five
// threads, however calls are kept.
func TestWideSweep(t *testing.T) {
	t.Parallel()
	wide, with := 0, 0
	graphs := uint64(15)
	if await.Long() {
		graphs = 60
	}
	for seed := range graphs {
		g := flowtest.Draw(seed)
		plan, err := graph.Parse([]byte(g.Text))
		if err != nil {
			t.Fatal(err)
		}
		for i := range plan.Nodes {
			plan.Nodes[i].SupportsV2 = true
		}
		kept := Recording{}
		switch seed % 3 {
		case 1:
			kept.Every = EverySqrt
		case 2:
			kept.Slots = 3
		}
		cut := 0
		if seed%4 == 3 {
			cut = 3
		}
		var want *Gradients[float32]
		for _, threads := range []int{1, 2, 5} {
			s, err := New[float32](plan, Options{BlockFrames: g.BlockFrames, Catalog: append(flowtest.Types(), ShippedTypes()...), Training: true, Threads: threads, eager: true})
			if err != nil {
				break // a graph that cannot be linked
			}
			got, was := sweepDrawn(t, g, s, kept, cut)
			s.Close()
			if got == nil {
				break
			}
			if was {
				wide++
			}
			if want == nil {
				want = got
				continue
			}
			if with++; !t.Failed() {
				sameGradients(t, fmt.Sprintf("seed %d, %d threads", seed, threads), got, want)
			}
		}
	}
	if with < int(graphs)/2 || wide < with/2 {
		t.Errorf("%d comparisons, %d sweeps on several threads", with, wide)
	}
}

// sweepDrawn runs a drawn graph forward and back, and reports whether several threads
// took part; nil if it is one that cannot run.
func sweepDrawn(t *testing.T, g *flowtest.Graph, s *Session[float32], kept Recording, cut int) (*Gradients[float32], bool) {
	t.Helper()
	const blocks = 30
	rec, err := s.Record(kept)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]node.Tensor[float32]{}
	for name, x := range flowtest.Streams[float32](g, blocks*g.BlockFrames) {
		in[name] = fromRows(s.Linked().Plan, name, x)
	}
	out, err := s.Run(in, blocks)
	if err != nil {
		return nil, false
	}
	grads, err := rec.Backward(out, Sweep{TruncateBlocks: cut})
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Text)
	}
	return grads, rec.sweep.wide != nil
}

func sameGradients(t *testing.T, what string, got, want *Gradients[float32]) {
	t.Helper()
	for name, w := range want.Inputs {
		for i, v := range got.Inputs[name].Data {
			if math.Float32bits(v) != math.Float32bits(w.Data[i]) {
				t.Errorf("%s: input %s frame %d: %g, want %g", what, name, i, v, w.Data[i])
				return
			}
		}
	}
	for k, w := range want.Params {
		for i, v := range got.Params[k].Value.Data {
			if math.Float64bits(v) != math.Float64bits(w.Value.Data[i]) {
				t.Errorf("%s: %s.%s[%d]: %g, want %g", what, w.Node, w.Name, i, v, w.Value.Data[i])
				return
			}
		}
	}
}

// fromRows makes the stream of an Input of its rows.
func fromRows(p *graph.Plan, name string, rows [][]float32) node.Tensor[float32] {
	n := &p.Nodes[slices.IndexFunc(p.Nodes, func(n graph.Node) bool { return n.Name == name })]
	t := node.Tensor[float32]{Data: slices.Concat(rows...), B: 1, C: len(rows), N: len(rows[0])}
	if b := n.Param("batches"); b != nil {
		t.B = int(b.Value.Data[0])
		t.C /= t.B
	}
	return t
}
