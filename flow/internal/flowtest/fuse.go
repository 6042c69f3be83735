package flowtest

import (
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// Fused checks that nodes of one type give the same bits in one fused call as
// in separate calls, that separate and fused calls may alternate, and that two
// fusions of the same nodes may.
func Fused(t *testing.T, table node.Table, in []graph.Shape, nodes ...graph.Node) {
	t.Helper()
	t.Run("float64", func(t *testing.T) { fused[float64](t, table, in, nodes) })
	t.Run("float32", func(t *testing.T) { fused[float32](t, table, in, nodes) })
}

func fused[F node.Float](t *testing.T, table node.Table, in []graph.Shape, nodes []graph.Node) {
	const blocks, frames = 8, 13
	c := Case{In: in, Tokens: blocks * frames, Amplitude: 1}
	var others []node.Instance[F]
	var calls, again []*node.Call[F]
	var rigs []*Rig[F]
	var streams, want [][]node.Tensor[F]
	for i := range nodes {
		g := NewRig[F](t, table, &nodes[i], 48000, in, frames)
		x := random[F](g, &c, uint64(i)+1)
		streams = append(streams, x)
		want = append(want, NewRig[F](t, table, &nodes[i], 48000, in, c.Tokens).Forward(t, x, []int{c.Tokens}))
		one, two := g.Call(x, 0, frames), g.Call(x, 0, frames)
		rigs, calls, again, others = append(rigs, g), append(calls, &one), append(again, &two), append(others, g.Inst)
	}
	fuser := others[0].(node.Fuser[F])
	run, ok := fuser.Fuse(others[1:], calls)
	if !ok {
		t.Fatal("nodes are not fused")
	}
	second, ok := fuser.Fuse(others[1:], again)
	if !ok {
		t.Fatal("nodes are not fused twice")
	}
	for k := range blocks {
		used := calls
		if k%4 == 3 {
			used = again
		}
		for i, x := range streams {
			for p := range x {
				paste(used[i].In[p], cut(x[p], k*frames, frames), 0)
			}
		}
		switch {
		case k == 2:
			for i, g := range rigs {
				if code := g.Inst.Forward(used[i]); code != graph.Success {
					t.Fatal(code)
				}
			}
		case k%4 == 3:
			second()
		default:
			run()
		}
		for i := range nodes {
			for p, y := range used[i].Out {
				same(t, "fused", []node.Tensor[F]{y}, []node.Tensor[F]{cut(want[i][p], k*frames, frames)})
			}
		}
	}
	for i, x := range streams {
		rigs[i].Inst.Reset()
		for p := range x {
			paste(calls[i].In[p], cut(x[p], 0, frames), 0)
		}
	}
	run()
	for i := range nodes {
		for p, y := range calls[i].Out {
			same(t, "fused, after a reset", []node.Tensor[F]{y}, []node.Tensor[F]{cut(want[i][p], 0, frames)})
		}
	}
	if n := await.Allocs(5, run); n != 0 {
		t.Errorf("a fused call allocates %v times", n)
	}
}
