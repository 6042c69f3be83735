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

// TestNeuralNodes checks every type of the table.
func TestNeuralNodes(t *testing.T) {
	ramp, n := flowtest.Ramp, flowtest.Node
	three := []graph.Shape{{B: 2, C: 3}}
	gru := n("GRU", "weight_ih", weights(12, 3), "weight_hh", weights(12, 4), "bias_ih", ramp(1, 12, 1, -.5, .5), "bias_hh", ramp(1, 12, 1, .7, -.3))
	for name, c := range map[string]flowtest.Case{
		"conv":          {Node: n("Conv1d", "weight", ramp(4, 3, 5, -1, 1), "bias", ramp(1, 4, 1, 0, 1)), In: three},
		"conv/one":      {Node: n("Conv1d", "weight", ramp(4, 3, 1, -1, 1)), In: three},
		"conv/dilation": {Node: n("Conv1d", "weight", ramp(2, 3, 3, -1, 1), "dilation", 4), In: three},
		"conv/stride":   {Node: n("Conv1d", "weight", ramp(2, 3, 4, -1, 1), "stride", 3, "bias", .3), In: three},
		"conv/both":     {Node: n("Conv1d", "weight", ramp(2, 3, 3, -1, 1), "stride", 2, "dilation", 3), In: three},
		"gru":           {Node: gru, In: three},
		"gru/plain":     {Node: n("GRU", "weight_ih", weights(6, 3), "weight_hh", weights(6, 2)), In: three},
		"squared error": {Node: n("SquaredError"), In: []graph.Shape{three[0], three[0]}},
	} {
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.NeuralTypes(), c) })
	}
}

// weights are random, of a layer's usual size.
func weights(rows, columns int) graph.Tensor {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(columns)))
	t := graph.Tensor{B: 1, C: rows, F: columns}
	for range rows * columns {
		t.Data = append(t.Data, r.NormFloat64()/math.Sqrt(float64(columns)))
	}
	return t
}

// TestNeuralErrors: weights and inputs that do not go together.
func TestNeuralErrors(t *testing.T) {
	t.Parallel()
	two := graph.Shape{B: 1, C: 2}
	for name, c := range map[string]struct {
		n  graph.Node
		in []graph.Shape
	}{
		"conv of 1 channel on 2":     {flowtest.Node("Conv1d"), []graph.Shape{two}},
		"a bias of three":            {flowtest.Node("Conv1d", "weight", flowtest.Ramp(2, 2, 1, 0, 1), "bias", flowtest.Ramp(1, 3, 1, 0, 1)), []graph.Shape{two}},
		"gru without weights":        {flowtest.Node("GRU"), []graph.Shape{two}},
		"gru of 3 channels on 2":     {flowtest.Node("GRU", "weight_ih", weights(6, 3), "weight_hh", weights(6, 2)), []graph.Shape{two}},
		"a target of another shape":  {flowtest.Node("SquaredError"), []graph.Shape{two, {B: 1, C: 1}}},
		"a hidden size that differs": {flowtest.Node("GRU", "weight_ih", weights(9, 2), "weight_hh", weights(6, 2)), []graph.Shape{two}},
	} {
		if _, err := flowtest.Link(signal.NeuralTypes(), &c.n, c.in, 4); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestGRU compares two frames of a unit with the formulas.
func TestGRU(t *testing.T) {
	t.Parallel()
	number := func(v ...float64) graph.Tensor { return graph.Tensor{B: 1, C: len(v), F: 1, Data: v} }
	n := flowtest.Node("GRU", "weight_ih", number(.5, -.3, .8), "weight_hh", number(.2, .4, -.6), "bias_ih", number(.1, .2, .3), "bias_hh", number(-.1, 0, .25))
	g := flowtest.NewRig[float64](t, signal.NeuralTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, 2)
	got := g.Forward(t, []node.Tensor[float64]{{Data: []float64{1, -2}, B: 1, C: 1, N: 2}}, []int{2})[0].Data
	h := 0.0
	for i, x := range []float64{1, -2} {
		sigma := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
		r, z := sigma(.5*x+.1+.2*h-.1), sigma(-.3*x+.2+.4*h)
		new := math.Tanh(.8*x + .3 + r*(-.6*h+.25))
		h = (1-z)*new + z*h
		if math.Abs(got[i]-h) > 1e-15 {
			t.Errorf("frame %d is %v, want %v", i, got[i], h)
		}
	}
}

// TestConv compares with the definition.
func TestConv(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("Conv1d", "weight", graph.Tensor{B: 1, C: 1, F: 2, Data: []float64{10, 1}}, "dilation", 2, "stride", 2, "bias", .5)
	g := flowtest.NewRig[float64](t, signal.NeuralTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, 3)
	got := g.Forward(t, []node.Tensor[float64]{{Data: []float64{1, 2, 3, 4, 5, 6}, B: 1, C: 1, N: 6}}, []int{1, 2})[0].Data
	for i, want := range []float64{1.5, 13.5, 35.5} { // x[t] + 10 x[t-2] + .5 at t = 0, 2, 4
		if got[i] != want {
			t.Errorf("frame %d is %v, want %v", i, got[i], want)
		}
	}
}

// BenchmarkNeural runs a frame of 64 channels.
func BenchmarkNeural(b *testing.B) {
	for name, n := range map[string]graph.Node{
		"conv1d/64x64x3": flowtest.Node("Conv1d", "weight", flowtest.Ramp(64, 64, 3, -1, 1)),
		"gru/64":         flowtest.Node("GRU", "weight_ih", weights(192, 64), "weight_hh", weights(192, 64)),
	} {
		b.Run(name, func(b *testing.B) {
			in := graph.Shape{B: 1, C: 64}
			g := flowtest.NewRig[float32](b, signal.NeuralTypes(), &n, 100, []graph.Shape{in}, 64)
			call := g.Call([]node.Tensor[float32]{flowtest.NewTensor[float32](in, 64)}, 0, 64)
			for b.Loop() {
				g.Inst.Forward(&call)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/frame")
		})
	}
}

func Example_neural() {
	for _, p := range signal.NeuralTypes() {
		fmt.Println(p.Name, "-", p.Doc)
	}
	// Output:
	// Conv1d - causal convolution over time; weight [out, in, kernel], bias [1, out, 1]; one frame per stride frames
	// GRU - gated recurrent unit; weight_ih, weight_hh, bias_ih, bias_hh as in PyTorch
	// SquaredError - mean over the channels of (in - target)^2
}
