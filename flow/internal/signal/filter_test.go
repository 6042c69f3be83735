package signal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

// TestFilterNodes checks every type and kind of the table.
func TestFilterNodes(t *testing.T) {
	ramp, n := flowtest.Ramp, flowtest.Node
	stereo := []graph.Shape{{B: 2, C: 2}}
	cases := map[string]graph.Node{
		"onepole":              n("OnePole", "f0", 3000.),
		"onepole/framed":       n("OnePole", "f0", ramp(2, 1, 40, 500, 9000)),
		"dcblock":              n("DCBlock", "r", ramp(1, 2, 1, .8, .95)),
		"dcblock/framed":       n("DCBlock", "r", ramp(2, 2, 40, .8, .99)),
		"svf/framed q":         n("SVF", "kind", "notch", "q", ramp(1, 2, 40, .4, 4)),
		"fir/one":              n("FIR", "taps", ramp(1, 1, 1, .5, 1)),
		"fir":                  n("FIR", "taps", ramp(1, 1, 7, -1, 1)),
		"fir/channels":         n("FIR", "taps", ramp(1, 2, 33, -1, .5)),
		"fir/partitioned":      n("FIR", "taps", ramp(1, 2, 33, -1, .5), "method", "partitioned", "partition", 8),
		"convolver/one":        n("Convolver", "taps", ramp(1, 1, 1, .5, 1)),
		"convolver/in a part":  n("Convolver", "taps", ramp(1, 2, 9, -.5, 1), "partition", 16),
		"convolver/parts of 1": n("Convolver", "taps", ramp(1, 1, 5, -.5, 1), "partition", 1),
		"convolver/long":       n("Convolver", "taps", ramp(1, 1, 70, -.5, 1), "partition", 4),
	}
	for _, kind := range []string{"lowpass", "bandpass", "highpass", "notch", "allpass"} {
		cases["svf/"+kind] = n("SVF", "kind", kind, "f0", 4000., "q", 1.5)
		cases["svf/framed/"+kind] = n("SVF", "kind", kind, "f0", ramp(1, 2, 40, 300, 15000))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.FilterTypes(), flowtest.Case{Node: c, In: stereo}) })
	}
}

// TestErrors: taps and partitions that do not fit.
func TestErrors(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("FIR", "taps", flowtest.Ramp(1, 3, 4, 0, 1))
	if _, err := flowtest.Link(signal.FilterTypes(), &n, []graph.Shape{{B: 1, C: 2}}, 8); err == nil {
		t.Error("three rows of taps for two channels")
	}
	n = flowtest.Node("Convolver", "partition", 24)
	if _, err := flowtest.Link(signal.FilterTypes(), &n, []graph.Shape{{B: 1, C: 1}}, 8); err == nil {
		t.Error("a partition of 24 frames")
	}
}

// TestConvolver: products of spectra are the direct sums, forwards and
// backwards, wherever the stream and its blocks end.
func TestConvolver(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for range 40 {
		length, part, tokens := 1+r.IntN(100), 1<<r.IntN(6), 1+r.IntN(200)
		taps := graph.Tensor{B: 1, C: 1, F: length, Data: noise(r, length)}
		x := node.Tensor[float64]{Data: noise(r, tokens), B: 1, C: 1, N: tokens}
		dy := node.Tensor[float64]{Data: noise(r, tokens), B: 1, C: 1, N: tokens}
		run := func(n graph.Node) (y, dx, dh []float64) {
			g := flowtest.NewRig[float64](t, signal.FilterTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, tokens)
			out := g.Forward(t, []node.Tensor[float64]{x}, []int{tokens / 3, tokens - tokens/3})
			in, p := g.Backward(t, []node.Tensor[float64]{dy})
			return out[0].Data, in[0].Data, p[0]
		}
		y0, dx0, dh0 := run(flowtest.Node("FIR", "taps", taps))
		y1, dx1, dh1 := run(flowtest.Node("Convolver", "taps", taps, "partition", part))
		for what, v := range map[string][2][]float64{"y": {y1, y0}, "dx": {dx1, dx0}, "dh": {dh1, dh0}} {
			for i := range v[0] {
				if d := math.Abs(v[0][i] - v[1][i]); d > 1e-12*float64(10+length) {
					t.Fatalf("%d taps, parts of %d, %d frames: %s[%d] off by %g", length, part, tokens, what, i, d)
				}
			}
		}
	}
}

func noise(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// BenchmarkFilter runs blocks of 64 frames, mono.
func BenchmarkFilter(b *testing.B) {
	for name, n := range map[string]graph.Node{
		"onepole":         flowtest.Node("OnePole"),
		"svf":             flowtest.Node("SVF"),
		"svf/framed":      flowtest.Node("SVF", "f0", flowtest.Ramp(1, 1, 64, 500, 5000)),
		"fir/64":          flowtest.Node("FIR", "taps", flowtest.Ramp(1, 1, 64, -1, 1)),
		"fir/1024":        flowtest.Node("FIR", "taps", flowtest.Ramp(1, 1, 1024, -1, 1)),
		"convolver/1024":  flowtest.Node("Convolver", "taps", flowtest.Ramp(1, 1, 1024, -1, 1)),
		"convolver/48000": flowtest.Node("Convolver", "taps", flowtest.Ramp(1, 1, 48000, -1, 1)),
	} {
		b.Run(name, func(b *testing.B) { flowtest.Frames(b, signal.FilterTypes(), &n) })
	}
}

func Example_filter() {
	n := flowtest.Node("OnePole", "f0", 1000.)
	for _, p := range signal.FilterTypes() {
		if p.Name == n.Type {
			fmt.Println(p.Name, "-", p.Doc)
		}
	}
	// Output: OnePole - y[n] = (1-a) x[n] + a y[n-1], a = exp(-2 pi f0/rate)
}
