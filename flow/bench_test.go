package flow

import (
	"fmt"
	"testing"

	"atenia/flow/node"
)

// chain is n gains one behind the other.
func chain(n int) *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	last := "in"
	for i := range n {
		p.node(`{"name": "g%d", "type": "Gain", "params": {"gain": %g}}`, i, 1+float64(i%2*2-1)/8)
		p.edge(last, fmt.Sprintf("g%d", i), "")
		last = fmt.Sprintf("g%d", i)
	}
	p.edge(last, "out", "")
	return p
}

// steps runs blocks until the path is static, then measures one.
func steps[F node.Float](b *testing.B, p *planText, o Options, nodes int) {
	s := start[F](b, p, o)
	in, _ := s.Input("in")
	for i := range in.Data {
		in.Data[i] = F(i%7) / 8
	}
	for range 8 {
		block(b, s)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Block(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}

// Benchmark measures blocks of float32 streams of one channel. Overhead is a
// chain of blocks of one frame, which is all schedule and no work.
func Benchmark(b *testing.B) {
	for _, frames := range []int{64, 256, 1024} {
		b.Run(fmt.Sprintf("flow/chain/gain/%d", frames), func(b *testing.B) {
			steps[float32](b, chain(100), Options{BlockFrames: frames}, 100)
		})
	}
	b.Run("flow/chain/gain/dynamic/64", func(b *testing.B) {
		steps[float32](b, chain(100), Options{DisableStatic: true}, 100)
	})
	b.Run("flow/graph/overhead", func(b *testing.B) {
		steps[float32](b, chain(100), Options{BlockFrames: 1, Scan: ScanOff}, 100)
	})
	for _, fused := range []string{"fused", "single"} {
		b.Run("flow/biquads/"+fused+"/96x64", func(b *testing.B) {
			steps[float32](b, bank(96, 1, ""), Options{DisableFusion: fused == "single"}, 96)
		})
	}
}
