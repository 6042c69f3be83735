package signal_test

import (
	"fmt"
	"math"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
)

// TestSourceNodes checks every type and kind of the table.
func TestSourceNodes(t *testing.T) {
	n := flowtest.Node
	for _, kind := range []string{"sine", "saw", "square", "triangle"} {
		t.Run("lfo/"+kind, func(t *testing.T) {
			flowtest.CheckNode(t, signal.SourceTypes(), flowtest.Case{Node: n("LFO", "kind", kind, "channels", 2, "frequency_hz", flowtest.Ramp(1, 2, 40, 100, 5000))})
		})
	}
	for _, kind := range []string{"white", "gaussian", "pink"} {
		t.Run("noise/"+kind, func(t *testing.T) {
			flowtest.CheckNode(t, signal.SourceTypes(), flowtest.Case{Node: n("Noise", "kind", kind, "batches", 2, "seed", 7)})
		})
	}
}

func stream(t *testing.T, n graph.Node, tokens int) []float64 {
	t.Helper()
	g := flowtest.NewRig[float64](t, signal.SourceTypes(), &n, 48000, nil, tokens)
	return g.Forward(t, nil, []int{tokens})[0].Data
}

// TestNoise: mean, variance, and the fall of pink noise over the octaves.
func TestNoise(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	for kind, variance := range map[string]float64{"white": 1. / 3, "gaussian": 1} {
		sum, squares := 0.0, 0.0
		for _, v := range stream(t, flowtest.Node("Noise", "kind", kind), n) {
			sum, squares = sum+v, squares+v*v
		}
		if m := sum / n; math.Abs(m) > 0.02 {
			t.Errorf("%s: mean %v", kind, m)
		}
		if v := squares / n; math.Abs(v/variance-1) > 0.03 {
			t.Errorf("%s: variance %v, want %v", kind, v, variance)
		}
	}
	// Means over 2^k frames have about the same variance in every octave; that of
	// white noise would halve.
	x := stream(t, flowtest.Node("Noise", "kind", "pink"), n)
	before := 0.0
	for k := 2; k < 9; k++ {
		v := 0.0
		for i := 0; i < n; i += 1 << k {
			m, half := 0.0, 1<<(k-1)
			for j := range half { // difference of neighbours: one octave
				m += x[i+j] - x[i+half+j]
			}
			v += m * m / float64(half*half)
		}
		v /= float64(int(n) >> k)
		if before > 0 && (v/before > 1.5 || v/before < 0.6) {
			t.Errorf("octave %d has %v times the power of the one above", k, v/before)
		}
		before = v
	}
	if a, b := stream(t, flowtest.Node("Noise", "seed", 1), 4), stream(t, flowtest.Node("Noise", "seed", 2), 4); a[0] == b[0] {
		t.Error("two seeds give one noise")
	}
}

func Example_source() {
	for _, p := range signal.SourceTypes() {
		fmt.Println(p.Name)
	}
	// Output:
	// LFO
	// Noise
}
