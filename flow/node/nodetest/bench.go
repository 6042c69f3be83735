package nodetest

import (
	"math"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// Frames benchmarks a node with one input: the time per frame of a mono float32
// stream, called with 64 frames at a time.
func Frames(b *testing.B, table node.Table, n *graph.Node) {
	mono := graph.Shape{B: 1, C: 1}
	g := NewRig[float32](b, table, n, 48000, []graph.Shape{mono}, 64)
	x := NewTensor[float32](mono, 64)
	for i := range x.Data {
		x.Data[i] = float32(math.Sin(float64(i)))
	}
	call := g.Call([]node.Tensor[float32]{x}, 0, 64)
	for b.Loop() {
		g.Inst.Forward(&call)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/frame")
}
