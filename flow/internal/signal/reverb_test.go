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
	"atenia/internal/golden/await"
)

// noisy returns a table of random numbers.
func noisy(r *rand.Rand, c, f int) graph.Tensor {
	t := graph.Tensor{B: 1, C: c, F: f, Data: make([]float64, c*f)}
	for i := range t.Data {
		t.Data[i] = r.NormFloat64()
	}
	return t
}

func TestReverbNode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n, ramp := flowtest.Node, flowtest.Ramp
	for name, c := range map[string]flowtest.Case{
		"identity":   {Node: n("ConvolutionReverb")},
		"one level":  {Node: n("ConvolutionReverb", "taps", noisy(r, 2, 30), "partition", 4, "dry", .5)},
		"two levels": {Node: n("ConvolutionReverb", "taps", noisy(r, 1, 100), "partition", 2, "wet", .3), Tokens: 400},
		"three":      {Node: n("ConvolutionReverb", "taps", noisy(r, 2, 700), "partition", 2, "dry", -1.), Tokens: 900},
		"to stereo":  {Node: n("ConvolutionReverb", "taps", noisy(r, 2, 90), "partition", 2), In: []graph.Shape{{B: 2, C: 1}}, Tokens: 150},
		"moving":     {Node: n("ConvolutionReverb", "taps", noisy(r, 1, 50), "partition", 1, "dry", ramp(2, 1, 40, -1, 1), "wet", ramp(1, 2, 40, -1, 1))},
	} {
		if c.In == nil {
			c.In = []graph.Shape{{B: 2, C: 2}}
		}
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.FilterTypes(), c) })
	}
	for _, bad := range []graph.Node{n("ConvolutionReverb", "partition", 3), n("ConvolutionReverb", "partition", 8192)} {
		if _, err := signal.FilterTypes().Describe(&bad); err == nil {
			t.Errorf("accepted: %v", bad.Params[0])
		}
	}
	unread := n("ConvolutionReverb", "file", "hall.wav")
	one := []graph.Shape{{B: 1, C: 1}}
	l, err := flowtest.Link(signal.FilterTypes(), &unread, one, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.New[float32](signal.FilterTypes(), node.Config{SampleRate: 48000, MaxTokens: 4, Node: l}); err == nil {
		t.Error("a file that was not read is accepted")
	}
}

// TestReverbDirect compares with the sum that defines convolution, in float64 within 1e-12 of the largest output, for
// random lengths, partitions and cuts; and the gradient with its transpose.
func TestReverbDirect(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	draws := 5
	if await.Long() {
		draws = 12
	}
	for range draws {
		length, frames, part := 1+r.IntN(6000), 1+r.IntN(9000), 1<<r.IntN(7)
		taps := noisy(r, 1, length)
		n := flowtest.Node("ConvolutionReverb", "taps", taps, "partition", part)
		x := noisy(r, 1, frames).Data
		var cuts []int
		for left := frames; left > 0; {
			k := min(left, 1+r.IntN(900))
			cuts, left = append(cuts, k), left-k
		}
		g := flowtest.NewRig[float64](t, signal.FilterTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, frames)
		y := g.Forward(t, []node.Tensor[float64]{{Data: x, B: 1, C: 1, N: frames}}, cuts)
		want := make([]float64, frames)
		top := 0.0
		for i := range want {
			for k := range min(i+1, length) {
				want[i] += taps.Data[k] * x[i-k]
			}
			top = max(top, math.Abs(want[i]))
		}
		for i := range want {
			if math.Abs(y[0].Data[i]-want[i]) > 1e-12*top {
				t.Fatalf("%d taps, partition %d, frame %d of %d: %v, want %v", length, part, i, frames, y[0].Data[i], want[i])
			}
		}
		z := noisy(r, 1, frames).Data
		zero := flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, frames)
		dIn, dParam := g.Backward(t, []node.Tensor[float64]{{Data: z, B: 1, C: 1, N: frames}, zero})
		dot := func(a, b []float64) (sum, norms float64) {
			var aa, bb float64
			for i := range a {
				sum, aa, bb = sum+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
			}
			return sum, math.Sqrt(aa * bb)
		}
		left, norms := dot(want, z)
		for what, d := range map[string][2][]float64{"x": {x, dIn[0].Data}, "taps": {taps.Data, dParam[2]}} {
			if right, _ := dot(d[0], d[1]); math.Abs(left-right) > 1e-12*norms {
				t.Errorf("%d taps, partition %d: ⟨h*x, z⟩ = %v, through %s %v", length, part, left, what, right)
			}
		}
	}
}

// TestReverbTaps: taps that change while a stream runs take effect within the largest partition, and after a reset at
// once.
func TestReverbTaps(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("ConvolutionReverb", "taps", flowtest.Ramp(1, 1, 300, 1, 1), "partition", 2)
	one := graph.Shape{B: 1, C: 1}
	g := flowtest.NewRig[float64](t, signal.FilterTypes(), &n, 48000, []graph.Shape{one}, 16)
	in := flowtest.NewTensor[float64](one, 16)
	for i := range in.Data {
		in.Data[i] = 1
	}
	c := g.Call([]node.Tensor[float64]{in}, 0, 16)
	last := func(calls int) float64 {
		for range calls {
			if code := g.Inst.Forward(&c); code != graph.Success {
				t.Fatal(code)
			}
		}
		return c.Out[0].Data[15]
	}
	if y := last(30); math.Abs(y-300) > 1e-9 {
		t.Errorf("%v, want the sum of 300 taps", y)
	}
	c.Param[2].Data[299] = 11
	if y := last(60); math.Abs(y-310) > 1e-9 {
		t.Errorf("after a change: %v, want 310", y)
	}
	c.Param[2].Data[0] = -1
	g.Inst.Reset()
	if last(1); c.Out[0].Data[0] != -1 {
		t.Errorf("after a reset: %v, want -1", c.Out[0].Data[0])
	}
}

// BenchmarkReverb runs blocks of 64 frames of a response of 3 s in stereo, at 48 kHz, whose work
// repeats every 64 of them: the largest partition has 4096 frames.
func BenchmarkReverb(b *testing.B) {
	for _, typ := range []string{"ConvolutionReverb", "Convolver"} {
		b.Run(fmt.Sprintf("3s/stereo/64/%s", typ), func(b *testing.B) {
			n := flowtest.Node(typ, "taps", noisy(rand.New(rand.NewPCG(1, 1)), 2, 3*48000))
			flowtest.Blocks(b, signal.FilterTypes(), &n, graph.Shape{B: 1, C: 2}, 64, 64)
		})
	}
}
