package signal_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// wild returns a random signal of parts up to 40 dB over a ceiling: noise, sines near a quarter of the rate whose peaks
// are between frames, squares, impulses, and silence.
func wild(r *rand.Rand, ceiling float64, frames int) []float64 {
	x := make([]float64, 0, frames)
	for len(x) < frames {
		amplitude := ceiling * math.Pow(10, (40*r.Float64()-6)/20) / 6 // noise reaches 6 deviations
		kind, phase, w := r.IntN(7), 2*math.Pi*r.Float64(), math.Pi*r.Float64()
		growth := 1 + 0.3*r.Float64()
		if kind >= 5 {
			amplitude = ceiling / 2
		}
		for range 1 + r.IntN(300) {
			phase += w
			v := 0.0
			switch kind {
			case 0:
				v = max(-6, min(r.NormFloat64(), 6))
			case 1:
				v = 5 * math.Sin(phase)
			case 2:
				v = math.Copysign(4, math.Sin(phase))
			case 3:
				if r.IntN(40) == 0 {
					v = 4 * r.NormFloat64()
				}
			case 4:
				v = 4 * float64(1-2*(len(x)&1)) * math.Sin(phase/100)
			default: // grows, with random signs: the gain falls while points between frames are near the ceiling
				v, amplitude = float64(1-2*r.IntN(2)), min(amplitude*growth, ceiling*100)
			}
			x = append(x, amplitude*v)
		}
	}
	return x[:frames]
}

// highest returns the largest true peak of a signal in dBTP, as a Loudness node gives it.
func highest[F node.Float](t *testing.T, x []F) float64 {
	n := flowtest.Node("Loudness", "hop", len(x))
	one := []graph.Shape{{B: 1, C: 1}}
	in := node.Tensor[F]{Data: x, B: 1, C: 1, N: len(x)}
	return float64(flowtest.NewRig[F](t, signal.MeterTypes(), &n, 48000, one, 1).Forward(t, []node.Tensor[F]{in}, []int{1})[4].Data[0])
}

// TestTruePeak: the true peak of random signals is within the ceiling after the limiter, in both precisions.
func TestTruePeak(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1770, 4))
	least := 0.0
	draws := 8
	if await.Long() {
		draws = 60
	}
	for range draws {
		db, lookahead := -20*r.Float64(), 16+r.IntN(120)
		release := math.Pow(10, -4+3*r.Float64())
		n := flowtest.Node("Limiter", "true_peak", "yes", "ceiling_db", db, "lookahead", lookahead, "release", release)
		x := wild(r, math.Pow(10, db/20), 6000)
		y := run(t, n, x)
		if got := highest(t, y); got > db {
			t.Errorf("lookahead %d, release %v: %v dBTP, over %v; before %v", lookahead, release, got, db, highest(t, x))
		} else if highest(t, x) > db {
			least = min(least, got-db)
		}
		x32 := flowtest.NewTensor[float32](graph.Shape{B: 1, C: 1}, len(x))
		for i, v := range x {
			x32.Data[i] = float32(v)
		}
		g := flowtest.NewRig[float32](t, signal.DynamicsTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, len(x))
		if got := highest(t, g.Forward(t, []node.Tensor[float32]{x32}, []int{len(x)})[0].Data); got > db {
			t.Errorf("lookahead %d, release %v in float32: %v dBTP, over %v", lookahead, release, got, db)
		}
	}
	if least < -6 {
		t.Errorf("some signal is %v dB below the ceiling", -least)
	}
}

// TestTruePeakGain: what is below the ceiling is delayed and keeps its bits; a loud sine keeps its shape and reaches the
// ceiling but for the margin; the gain moves by at most the excess over the look-ahead per frame and stage.
func TestTruePeakGain(t *testing.T) {
	t.Parallel()
	const late = 2 * (64 + 70)
	n := flowtest.Node("Limiter", "true_peak", "yes", "ceiling_db", -1., "release", .005)
	x := make([]float64, 9000)
	for i := range x {
		x[i] = 0.4 * math.Sin(0.1*float64(i))
		if i >= 3000 && i < 6000 {
			x[i] *= 10
		}
	}
	y := run(t, n, x)
	for i := late; i < 2500; i++ {
		if y[i] != x[i-late] {
			t.Fatalf("frame %d is %v, want %v", i, y[i], x[i-late])
		}
	}
	gain, ceiling := 0.0, math.Pow(10, -1./20)
	for i := late; i < len(y); i++ {
		if math.Abs(x[i-late]) < 1e-3 {
			continue
		}
		now := math.Log(y[i] / x[i-late])
		if steps := float64(2); math.Abs(now-gain) > 2*steps*math.Log(4/ceiling)/64 {
			t.Fatalf("frame %d: the gain moves by %v nepers", i, now-gain)
		}
		gain = now
	}
	if top := highest(t, y); top > -1 || top < -1.1 {
		t.Errorf("a loud sine is %v dBTP, want -1 to -1.1", top)
	}
	bad := flowtest.Node("Limiter", "true_peak", "yes", "lookahead", 15)
	if _, err := signal.DynamicsTypes().Describe(&bad); err == nil {
		t.Error("a look-ahead shorter than the interpolation is accepted")
	}
}
