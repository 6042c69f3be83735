package signal_test

import (
	"errors"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

// TestDelayNodes checks every interpolation with constant and modulated delays.
func TestDelayNodes(t *testing.T) {
	ramp, plan := flowtest.Ramp, flowtest.Node
	for _, how := range []string{"none", "linear", "lagrange"} {
		for name, d := range map[string]graph.Tensor{
			"short": ramp(1, 2, 1, .3, .7), "long": ramp(2, 1, 1, 37.3, 70.6), "moving": ramp(1, 2, 40, .2, 11.3), "back": ramp(1, 1, 40, 50.7, 1.2),
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				flowtest.CheckNode(t, signal.DelayTypes(), flowtest.Case{
					Node: plan("Delay", "interpolation", how, "delay", d), In: []graph.Shape{{B: 2, C: 2}}, Tokens: 40,
				})
			})
		}
	}
}

// TestModulated moves a delay from outside: it is held between 0 and max_delay.
func TestModulated(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("Delay", "max_delay", 20)
	l, err := flowtest.Link(signal.DelayTypes(), &n, []graph.Shape{{B: 1, C: 1}}, 64)
	if err != nil {
		t.Fatal(err)
	}
	l.Mods = []int{0}
	d, err := node.New[float64](signal.DelayTypes(), node.Config{SampleRate: 48000, MaxTokens: 64, Node: l})
	if err != nil {
		t.Fatal(err)
	}
	block := func() node.Tensor[float64] { return flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, 64) }
	c := node.Call[float64]{In: []node.Tensor[float64]{block()}, Out: []node.Tensor[float64]{block()}, Tokens: 64,
		Param: []node.Param[float64]{{Tensor: block(), Framed: true}, {Tensor: node.Tensor[float64]{Data: []float64{0}, B: 1, C: 1, N: 1}}}}
	for k := range 10 {
		for i := range 64 {
			c.In[0].Data[i], c.Param[0].Data[i] = float64(64*k+i+1), float64(i-10)
		}
		if code := d.Forward(&c); code != graph.Success {
			t.Fatal(code)
		}
		for i, y := range c.Out[0].Data {
			if want := max(0, 64*k+i+1-min(max(i-10, 0), 20)); y != float64(want) {
				t.Fatalf("frame %d of block %d: %v, want %d", i, k, y, want)
			}
		}
	}
}

// TestTooLong: a delay line larger than any memory is rejected.
func TestTooLong(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("Delay", "delay", 1e12)
	l, err := flowtest.Link(signal.DelayTypes(), &n, []graph.Shape{{B: 1, C: 1}}, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, err = node.New[float32](signal.DelayTypes(), node.Config{SampleRate: 48000, MaxTokens: 64, Node: l})
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.InvalidArg || e.Path != "$.nodes[0].params.delay" {
		t.Errorf("got %v", err)
	}
}
