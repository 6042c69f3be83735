package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/node"
)

// BenchmarkThereAndBack runs streams forward with a record and sweeps back.
func BenchmarkThereAndBack(b *testing.B) {
	chain := "x Input; o Probe; x -> n0; n49 -> o"
	for i := range 50 {
		chain += fmt.Sprintf("; n%d %s", i, []string{"Gain gain=0.99", "Biquad f0=4000", "OnePole f0=9000", "DCBlock", "WaveShaper"}[i%5])
		if i > 0 {
			chain += fmt.Sprintf("; n%d -> n%d", i-1, i)
		}
	}
	for _, c := range []struct {
		name, plan    string
		rows, frames  int
		block, blocks int
		rec           flow.Recording
	}{
		{"biquad/32x4096", "x Input batches=32; n Biquad; o Probe; x -> n; n -> o", 32, 4096, 4096, 1, flow.Recording{}},
		{"biquad/32x4096/input_only", "x Input batches=32; n Biquad; o Probe; x -> n; n -> o", 32, 4096, 4096, 1, flow.Recording{NoParams: true}},
		{"chain50/1x48000", chain, 1, 48000, 480, 100, flow.Recording{}},
		{"chain50/1x48000/every10", chain, 1, 48000, 480, 100, flow.Recording{Every: 10}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := session[float32](b, sketch(b, c.plan), flow.Options{BlockFrames: c.block, Training: true}, nil)
			rec, err := s.Record(c.rec)
			if err != nil {
				b.Fatal(err)
			}
			in := map[string]node.Tensor[float32]{"x": {Data: make([]float32, c.rows*c.frames), B: c.rows, C: 1, N: c.frames}}
			for i := range in["x"].Data {
				in["x"].Data[i] = float32(i%17) - 8
			}
			var kept int64
			b.SetBytes(int64(4 * c.rows * c.frames))
			for b.Loop() {
				s.Reset()
				out, err := s.Run(in, c.blocks)
				if err != nil {
					b.Fatal(err)
				}
				g, err := rec.Backward(out, flow.Sweep{})
				if err != nil {
					b.Fatal(err)
				}
				kept = g.Report.PeakBytes()
			}
			b.ReportMetric(float64(kept)/1e6, "MB")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.rows*c.frames*max(1, strings.Count(c.plan, "->")-1)), "ns/frame/node")
		})
	}
}

// BenchmarkStep is a training step on a block: feed, run, sweep, read.
func BenchmarkStep(b *testing.B) {
	const rows, frames = 32, 4096
	for _, c := range []struct {
		name, plan string
		rec        flow.Recording
	}{
		{"biquad", "x Input batches=32; n Biquad; o Probe; x -> n; n -> o", flow.Recording{}},
		{"biquad/input_only", "x Input batches=32; n Biquad; o Probe; x -> n; n -> o", flow.Recording{NoParams: true}},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.name, rows, frames), func(b *testing.B) {
			s := session[float32](b, sketch(b, c.plan), flow.Options{BlockFrames: frames, Training: true}, nil)
			rec, err := s.Record(c.rec)
			if err != nil {
				b.Fatal(err)
			}
			x, err := s.Input("x")
			if err != nil {
				b.Fatal(err)
			}
			stream := make([]float32, len(x.Data))
			for i := range stream {
				stream[i] = float32(i%17) - 8
			}
			var g flow.Gradients[float32]
			out := map[string]node.Tensor[float32]{}
			b.SetBytes(4 * rows * frames)
			for b.Loop() {
				s.Reset()
				copy(x.Data, stream)
				if err := s.Block(); err != nil {
					b.Fatal(err)
				}
				if out["o"], err = s.Probe("o"); err != nil { // the gradient of half its square
					b.Fatal(err)
				}
				if err := rec.BackwardInto(&g, out, flow.Sweep{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*frames), "ns/frame")
		})
	}
}

// BenchmarkSweepThreads is the backward pass alone of twenty nodes in a row, on one
// thread and on two: what a block gives upstream is computed while the next one is.
func BenchmarkSweepThreads(b *testing.B) {
	const rows, frames, block = 32, 4096, 512
	chain := "x Input batches=32; o Probe; x -> n0; n19 -> o"
	for i := range 20 {
		chain += fmt.Sprintf("; n%d %s", i, []string{"Biquad f0=4000", "OnePole f0=9000", "WaveShaper", "Gain gain=0.99"}[i%4])
		if i > 0 {
			chain += fmt.Sprintf("; n%d -> n%d", i-1, i)
		}
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			s := session[float32](b, sketch(b, chain), flow.Options{BlockFrames: block, Training: true, Threads: threads}, nil)
			defer s.Close()
			rec, err := s.Record(flow.Recording{})
			if err != nil {
				b.Fatal(err)
			}
			in := map[string]node.Tensor[float32]{"x": {Data: make([]float32, rows*frames), B: rows, C: 1, N: frames}}
			for i := range in["x"].Data {
				in["x"].Data[i] = float32(i%17) - 8
			}
			out, err := s.Run(in, frames/block)
			if err != nil {
				b.Fatal(err)
			}
			var g flow.Gradients[float32]
			for b.Loop() {
				if err := rec.BackwardInto(&g, out, flow.Sweep{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*frames*20), "ns/frame/node")
		})
	}
}
