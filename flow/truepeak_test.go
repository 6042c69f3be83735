package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// An oversampler finds peaks at four times the rate with a prototype of its own: a Blackman-windowed sinc.
type oversampler struct {
	phases [4][]float64 // against the frames from one on
}

// newOversampler designs a prototype of an even number of taps.
func newOversampler(taps int) (o oversampler) {
	for i := range taps {
		at := (float64(i) - float64(taps-1)/2) / 4 // in frames
		w := 2 * math.Pi * float64(i) / float64(taps-1)
		h := (0.42 - 0.5*math.Cos(w) + 0.08*math.Cos(2*w)) * math.Sin(math.Pi*at) / (math.Pi * at)
		o.phases[i%4] = append(o.phases[i%4], h)
	}
	return o
}

// peak returns the largest point of x in dB.
func (o oversampler) peak(x []float64) float64 {
	most := 0.0
	for _, h := range o.phases {
		for i := range len(x) - len(h) {
			sum := 0.0
			for k, h := range h {
				sum += h * x[i+k]
			}
			most = max(most, math.Abs(sum))
		}
	}
	return 20 * math.Log10(most)
}

// TestTruePeakIndependent: the peaks of wide-band signals behind a Limiter, found by oversampling four times with 128
// taps and with 128 taps per phase, exceed the ceiling by 0.02 dB at most.
func TestTruePeakIndependent(t *testing.T) {
	t.Parallel()
	const frames, silence, tolerance = 4000, 1000, 0.02
	r := rand.New(rand.NewPCG(4, 128))
	period, near := 2.1+20*r.Float64(), math.Pow(10, -1.5-2*r.Float64())
	signals := []struct {
		name string
		at   func(i int) float64
	}{
		{"noise", func(int) float64 { return 2*r.Float64() - 1 }},
		{"gauss", func(int) float64 { return r.NormFloat64() }},
		{"square", func(i int) float64 { return math.Copysign(1, math.Sin(2*math.Pi*float64(i)/period)) }},
		{"sine", func(i int) float64 { return math.Sin(math.Pi * (1 - near) * float64(i)) }},
	}
	meters := []oversampler{newOversampler(128), newOversampler(512)}
	for _, lookahead := range []int{16, 64, 200} {
		for _, signal := range signals {
			ceiling, release := -1-11*r.Float64(), math.Pow(10, -3+2*r.Float64())
			x := node.Tensor[float64]{Data: make([]float64, frames+2*silence), B: 1, C: 1, N: frames + 2*silence}
			for i := range frames {
				x.Data[silence+i] = signal.at(i)
			}
			plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [{"name": "in", "type": "Input"}, {"name": "out", "type": "Probe"},
				{"name": "n", "type": "Limiter", "params": {"true_peak": "yes", "lookahead": %d, "ceiling_db": %v, "release": %v}}],
				"edges": [{"source": "in", "target": "n"}, {"source": "n", "target": "out"}]}`, lookahead, ceiling, release))
			if err != nil {
				t.Fatal(err)
			}
			s, err := flow.New[float64](plan, flow.Options{BlockFrames: 100})
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(map[string]node.Tensor[float64]{"in": x}, x.N/100)
			s.Close()
			if err != nil {
				t.Fatal(err)
			}
			for k, m := range meters {
				if got := m.peak(out["out"].Data) - ceiling; got > tolerance || got < -6 {
					t.Errorf("%s, lookahead %d, release %.4f, meter %d: %.3f dB over the ceiling of %.2f dB", signal.name, lookahead, release, k, got, ceiling)
				}
			}
		}
	}
}
