package flowtest

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

// Blocks benchmarks a node with one input of the given shape, called with the given number of frames at a time, whose
// work repeats after a period of calls. Of each call of the period it takes the least time, which leaves out what other
// processes cost, and reports the median and the largest of these.
func Blocks(b *testing.B, table node.Table, n *graph.Node, shape graph.Shape, frames, period int) {
	g := NewRig[float32](b, table, n, 48000, []graph.Shape{shape}, frames)
	x := NewTensor[float32](shape, frames)
	for i := range x.Data {
		x.Data[i] = float32(math.Sin(float64(i)))
	}
	call := g.Call([]node.Tensor[float32]{x}, 0, frames)
	least := slices.Repeat([]time.Duration{math.MaxInt64}, period)
	for k := 0; b.Loop(); k++ {
		began := time.Now()
		g.Inst.Forward(&call)
		least[k%period] = min(least[k%period], time.Since(began))
	}
	slices.Sort(least)
	b.ReportMetric(float64(least[period/2])/1e3, "median-µs")
	b.ReportMetric(float64(least[period-1])/1e3, "worst-µs")
}
