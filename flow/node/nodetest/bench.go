package nodetest

import (
	"math"
	"slices"
	"testing"
	"time"

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

// Blocks benchmarks a node with one input of the given shape, called with the given number of frames at a time, and
// reports the median, the 99.9th percentile and the largest time of a block.
func Blocks(b *testing.B, table node.Table, n *graph.Node, shape graph.Shape, frames int) {
	g := NewRig[float32](b, table, n, 48000, []graph.Shape{shape}, frames)
	x := NewTensor[float32](shape, frames)
	for i := range x.Data {
		x.Data[i] = float32(math.Sin(float64(i)))
	}
	call := g.Call([]node.Tensor[float32]{x}, 0, frames)
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		g.Inst.Forward(&call)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	for name, share := range map[string]float64{"median": 0.5, "p99.9": 0.999, "worst": 1} {
		b.ReportMetric(float64(times[int(share*float64(len(times)-1))])/1e3, name+"-µs")
	}
}
