package flow_test

import (
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// BenchmarkForward and BenchmarkBackward time one call of a node in float32;
// MB/s counts the samples that come out, 4 bytes each.
func BenchmarkForward(b *testing.B) {
	each(b, func(b *testing.B, g *flowtest.Rig[float32], in, _ []node.Tensor[float32], tokens int) {
		c := g.Call(in, 0, tokens)
		for b.Loop() {
			g.Inst.Forward(&c)
		}
	})
}

// BenchmarkBackward: see BenchmarkForward.
func BenchmarkBackward(b *testing.B) {
	each(b, func(b *testing.B, g *flowtest.Rig[float32], in, dOut []node.Tensor[float32], tokens int) {
		g.Forward(b, in, []int{tokens})
		c, adjoint := g.Back(0, dOut), g.Inst.(node.Adjoint[float32])
		for k, s := range g.Node.Spec.Params[:len(g.Node.Spec.Params)-1] {
			switch p := &c.DParam[k]; {
			case c.Param[k].Framed:
				p.Framed = flowtest.NewTensor[float32](g.Node.Rows, tokens)
			case s.Table:
				p.Sum = make([]float64, len(s.Value.Data))
			default:
				p.Sum = make([]float64, g.Node.Rows.B*g.Node.Rows.C)
			}
		}
		for b.Loop() {
			adjoint.Backward(&c)
		}
	})
}

// each runs a benchmark on the nodes whose speed counts.
func each(b *testing.B, f func(*testing.B, *flowtest.Rig[float32], []node.Tensor[float32], []node.Tensor[float32], int)) {
	for _, x := range []struct {
		name   string
		node   graph.Node
		shape  graph.Shape
		tokens int
	}{
		{"gain/1x64", flowtest.Node("Gain", "gain", .5), graph.Shape{B: 1, C: 1}, 64},
		{"mix/2x64", flowtest.Node("Mix"), graph.Shape{B: 1, C: 1}, 64},
		{"biquad/1x64", flowtest.Node("Biquad"), graph.Shape{B: 1, C: 1}, 64},
		{"biquad/32x4096", flowtest.Node("Biquad"), graph.Shape{B: 32, C: 1}, 4096},
		{"biquad/moving/2x64", flowtest.Node("Biquad", "f0", flowtest.Ramp(1, 1, 64, 200, 2000)), graph.Shape{B: 1, C: 2}, 64},
		{"delay/2x64", flowtest.Node("Delay", "delay", 4800), graph.Shape{B: 1, C: 2}, 64},
		{"delay/lagrange/2x64", flowtest.Node("Delay", "delay", 48.3, "interpolation", "lagrange"), graph.Shape{B: 1, C: 2}, 64},
		{"delay/moving/2x64", flowtest.Node("Delay", "delay", flowtest.Ramp(1, 1, 64, 10, 50), "interpolation", "lagrange"), graph.Shape{B: 1, C: 2}, 64},
		{"oscillator/sine/64", flowtest.Node("Oscillator"), graph.Shape{}, 64},
		{"oscillator/saw/64", flowtest.Node("Oscillator", "kind", "saw"), graph.Shape{}, 64},
		{"oscillator/triangle/64", flowtest.Node("Oscillator", "kind", "triangle"), graph.Shape{}, 64},
		{"oscillator/saw/x8/64", oversampled(flowtest.Node("Oscillator", "kind", "saw"), 8), graph.Shape{}, 64},
		{"upsample/2/2x64", flowtest.Node("Upsample"), graph.Shape{B: 1, C: 2}, 64},
		{"downsample/2/2x64", flowtest.Node("Downsample"), graph.Shape{B: 1, C: 2}, 64},
		{"resample/160to147/2x8", flowtest.Node("Resample", "up", 147, "down", 160), graph.Shape{B: 1, C: 2}, 8},
	} {
		b.Run(x.name, func(b *testing.B) {
			spec, err := flow.ShippedTypes().Describe(&x.node)
			if err != nil {
				b.Fatal(err)
			}
			shapes := make([]graph.Shape, len(spec.Ins))
			var in, dOut []node.Tensor[float32]
			for i := range shapes {
				shapes[i] = x.shape
				in = append(in, shippedNoise(x.shape, x.tokens*spec.Cons[i]))
			}
			g := flowtest.NewRig[float32](b, flow.ShippedTypes(), &x.node, 48000, shapes, x.tokens)
			bytes := 0
			for i, s := range g.Node.OutShape {
				dOut = append(dOut, shippedNoise(s, x.tokens*spec.Prod[i]))
				bytes += 4 * len(dOut[i].Data)
			}
			b.SetBytes(int64(bytes))
			f(b, g, in, dOut, x.tokens)
		})
	}
}

func oversampled(n graph.Node, ratio int) graph.Node {
	n.OversampleRatio = ratio
	return n
}

// shippedNoise returns numbers without a pattern.
func shippedNoise(s graph.Shape, n int) node.Tensor[float32] {
	t := flowtest.NewTensor[float32](s, n)
	v := uint32(1)
	for i := range t.Data {
		v = v*1664525 + 1013904223
		t.Data[i] = float32(int32(v)) / (1 << 31)
	}
	return t
}
