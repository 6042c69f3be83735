package signal_test

import (
	"fmt"
	"math"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

func TestNode(t *testing.T) {
	flowtest.CheckNode(t, signal.MeterTypes(), flowtest.Case{
		Node: flowtest.Node("Meter", "hop", 30, "blocks", 3), In: []graph.Shape{{B: 2, C: 6}}, Tokens: 20})
}

// measure gives the last report on a stream of channels at 48 kHz.
func measure(t *testing.T, x node.Tensor[float64]) (rms, peak, momentary, integrated float64) {
	t.Helper()
	n := flowtest.Node("Meter")
	tokens := x.N / 4800
	g := flowtest.NewRig[float64](t, signal.MeterTypes(), &n, 48000, []graph.Shape{{B: 1, C: x.C}}, tokens)
	out := g.Forward(t, []node.Tensor[float64]{x}, []int{tokens})
	last := func(i int) float64 { return out[i].Row(0)[tokens-1] }
	return last(0), last(1), last(2), last(3)
}

func sine(channels int, seconds, hz, amplitude float64) node.Tensor[float64] {
	x := flowtest.NewTensor[float64](graph.Shape{B: 1, C: channels}, int(seconds*48000))
	for c := range channels {
		for i := range x.N {
			x.Row(c)[i] = amplitude * math.Sin(2*math.Pi*hz*float64(i)/48000)
		}
	}
	return x
}

// TestLoudness: the anchors of BS.1770 and EBU Tech 3341.
func TestLoudness(t *testing.T) {
	t.Parallel()
	// "A 997 Hz sine of 0 dBFS in one channel gives -3.01 LKFS."
	rms, peak, momentary, integrated := measure(t, sine(1, 3, 997, 1))
	if math.Abs(rms-math.Sqrt(0.5)) > 1e-3 || math.Abs(peak-1) > 1e-3 {
		t.Errorf("rms %v, peak %v", rms, peak)
	}
	if math.Abs(momentary+3.01) > 0.01 || math.Abs(integrated+3.01) > 0.01 {
		t.Errorf("0 dBFS: momentary %v, integrated %v LUFS, want -3.01", momentary, integrated)
	}
	// Case 1 of Tech 3341: a stereo sine of -23 dBFS is -23 LUFS, ±0.1.
	if _, _, m, i := measure(t, sine(2, 3, 1000, math.Pow(10, -23./20))); math.Abs(m+23) > 0.1 || math.Abs(i+23) > 0.1 {
		t.Errorf("-23 dBFS stereo: momentary %v, integrated %v LUFS", m, i)
	}
}

// TestGate: case 3 of Tech 3341, shortened: quiet parts do not count.
func TestGate(t *testing.T) {
	t.Parallel()
	x := sine(2, 22, 1000, 1)
	for c := range 2 {
		for i := range x.N {
			level := -36.
			if i >= 48000 && i < 21*48000 {
				level = -23
			}
			x.Row(c)[i] *= math.Pow(10, level/20)
		}
	}
	if _, _, m, i := measure(t, x); math.Abs(i+23) > 0.1 || math.Abs(m+36) > 0.1 {
		t.Errorf("momentary %v, integrated %v LUFS, want -36 and -23", m, i)
	}
	if _, _, m, i := measure(t, sine(2, 1, 1000, 0)); m != -120 || i != -120 {
		t.Errorf("silence: %v and %v LUFS", m, i)
	}
}

func Example_meter() {
	n := flowtest.Node("Meter")
	spec, err := signal.MeterTypes().Describe(&n)
	fmt.Println(spec.Outs, spec.Cons, err)
	// Output: [rms peak momentary integrated] [4800] <nil>
}
