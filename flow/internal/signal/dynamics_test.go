package signal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

// TestDynamicsNodes checks every type and kind of the table.
func TestDynamicsNodes(t *testing.T) {
	ramp, n := flowtest.Ramp, flowtest.Node
	stereo := []graph.Shape{{B: 2, C: 2}}
	for name, c := range map[string]flowtest.Case{
		"envelope":              {Node: n("Envelope", "attack", .0001, "release", .0004)},
		"envelope/framed":       {Node: n("Envelope", "attack", ramp(2, 1, 40, 1e-4, 1e-3), "release", ramp(1, 2, 40, 1e-4, 1e-3))},
		"compressor":            {Node: n("Compressor", "attack", .0001, "release", .0004, "threshold_db", -12.)},
		"compressor/late":       {Node: n("Compressor", "lookahead", 5, "attack", .0001, "release", .0004)},
		"compressor/very late":  {Node: n("Compressor", "lookahead", 60, "attack", .0001)},
		"compressor/hard knee":  {Node: n("Compressor", "knee_db", 0., "attack", .0001), NoGradient: true},
		"compressor/framed":     {Node: n("Compressor", "lookahead", 3, "threshold_db", ramp(2, 2, 40, -30, -3), "ratio", ramp(1, 1, 40, 1, 9), "knee_db", ramp(2, 1, 40, 1, 20), "makeup_db", ramp(1, 1, 40, -3, 3))},
		"compressor/side chain": {Node: n("Compressor", "sidechain", "yes", "attack", .0001, "release", .0004, "threshold_db", -12.), In: slices.Repeat(stereo, 2)},
		"compressor/one key":    {Node: n("Compressor", "sidechain", "yes", "attack", .0001, "lookahead", 4, "ratio", ramp(2, 3, 40, 1, 9)), In: []graph.Shape{{B: 2, C: 3}, {B: 2, C: 1}}},
		"limiter":               {Node: n("Limiter", "lookahead", 4, "ceiling_db", -9., "release", .0003)},
		"limiter/at once":       {Node: n("Limiter", "lookahead", 0, "ceiling_db", -9., "release", .0003)},
		"limiter/very late":     {Node: n("Limiter", "lookahead", 55, "ceiling_db", -9.)},
		"limiter/framed":        {Node: n("Limiter", "lookahead", 7, "ceiling_db", ramp(1, 2, 40, -20, 0), "release", ramp(2, 1, 40, 1e-4, 1e-3))},
		"limiter/true":          {Node: n("Limiter", "true_peak", "yes", "lookahead", 16, "ceiling_db", -9., "release", .0003), Tokens: 400},
		"limiter/true, framed":  {Node: n("Limiter", "true_peak", "yes", "lookahead", 19, "ceiling_db", ramp(1, 2, 40, -20, 0), "release", ramp(2, 1, 40, 1e-4, 1e-3)), Tokens: 300},
		"adsr":                  {Node: n("ADSR", "attack", .0001, "decay", .0001, "release", .0001), Tokens: 300},
		"adsr/framed":           {Node: n("ADSR", "attack", .0001, "sustain", ramp(2, 2, 40, .2, .8))},
		"waveshaper/tanh":       {Node: n("WaveShaper", "drive", 1.5)},
		"waveshaper/soft":       {Node: n("WaveShaper", "kind", "soft", "drive", ramp(1, 1, 40, .5, 2))},
		"waveshaper/hard":       {Node: n("WaveShaper", "kind", "hard", "drive", ramp(2, 2, 1, .5, 2))},
		"waveshaper/tanh/adaa":  {Node: n("WaveShaper", "antialiasing", "adaa", "drive", 1.5)},
		"waveshaper/soft/adaa":  {Node: n("WaveShaper", "kind", "soft", "antialiasing", "adaa", "drive", ramp(1, 1, 40, .5, 2))},
		"waveshaper/hard/adaa":  {Node: n("WaveShaper", "kind", "hard", "antialiasing", "adaa")},
		"waveshaper/quiet/adaa": {Node: n("WaveShaper", "antialiasing", "adaa"), Amplitude: 1e-4, Tolerance: 1e-5},
	} {
		if c.In == nil {
			c.In = stereo
		}
		t.Run(name, func(t *testing.T) { flowtest.CheckNode(t, signal.DynamicsTypes(), c) })
	}
}

// run gives one row of a node's output.
func run(t *testing.T, n graph.Node, x []float64) []float64 {
	t.Helper()
	g := flowtest.NewRig[float64](t, signal.DynamicsTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, len(x))
	in := node.Tensor[float64]{Data: x, B: 1, C: 1, N: len(x)}
	return g.Forward(t, []node.Tensor[float64]{in}, []int{len(x)})[0].Data
}

// TestLimiter: no sample exceeds the ceiling, and a signal below it is delayed
// but unchanged.
func TestLimiter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 3000)
	for i := range x {
		x[i] = r.NormFloat64() * math.Exp(3*math.Sin(float64(i)*0.01))
	}
	ceiling := math.Pow(10, -6./20)
	for i, y := range run(t, flowtest.Node("Limiter", "ceiling_db", -6., "lookahead", 32, "release", .002), x) {
		if math.Abs(y) > ceiling*(1+1e-15) {
			t.Fatalf("frame %d is %v, over %v", i, y, ceiling)
		}
	}
	for i := range x {
		x[i] *= 1e-3
	}
	for i, y := range run(t, flowtest.Node("Limiter", "lookahead", 32), x) {
		if want := 0.0; i >= 32 {
			if want = x[i-32]; y != want {
				t.Fatalf("frame %d is %v, want %v", i, y, want)
			}
		}
	}
}

// TestAntialiasing: of a clipped sine, the spectrum between its harmonics is
// quieter with antialiasing.
func TestAntialiasing(t *testing.T) {
	t.Parallel()
	const n, cycles = 4096, 301 // a period is no whole number of frames
	x := make([]float64, 2*n)
	for i := range x {
		x[i] = math.Sin(2 * math.Pi * cycles * float64(i) / n)
	}
	alias := func(mode string) float64 {
		y := run(t, flowtest.Node("WaveShaper", "kind", "hard", "drive", 8., "antialiasing", mode), x)[n:]
		// The 9th harmonic is past half the rate: it folds to 4096 - 2709.
		re, im := 0.0, 0.0
		for i, v := range y {
			s, c := math.Sincos(2 * math.Pi * (n - 9*cycles) * float64(i) / n)
			re, im = re+v*c, im+v*s
		}
		return math.Hypot(re, im)
	}
	if plain, anti := alias("none"), alias("adaa"); anti > plain*0.8 {
		t.Errorf("an alias of %v is %v with antialiasing", plain, anti)
	}
}

// Benchmark runs blocks of 64 frames, mono.
func Benchmark(b *testing.B) {
	for name, n := range map[string]graph.Node{
		"compressor":   flowtest.Node("Compressor"),
		"limiter":      flowtest.Node("Limiter"),
		"limiter/true": flowtest.Node("Limiter", "true_peak", "yes"),
		"tanh":         flowtest.Node("WaveShaper"),
		"tanh/adaa":    flowtest.Node("WaveShaper", "antialiasing", "adaa"),
	} {
		b.Run(name, func(b *testing.B) { flowtest.Frames(b, signal.DynamicsTypes(), &n) })
	}
}

func Example() {
	for _, p := range signal.DynamicsTypes() {
		fmt.Println(p.Name, p.Adjoint)
	}
	// Output:
	// Envelope true
	// Compressor true
	// Limiter true
	// WaveShaper true
	// ADSR false
}

// TestSideChain: a compressor whose side chain carries the signal itself gives the same bits as one without, a loud key
// attenuates a quiet signal by the curve, and a silent one leaves a loud signal alone.
func TestSideChain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	x, key := make([]float64, 2000), make([]float64, 2000)
	for i := range x {
		x[i], key[i] = r.NormFloat64(), math.Copysign(0.1, r.NormFloat64())
	}
	give := func(n graph.Node, in ...[]float64) []float64 {
		var shapes []graph.Shape
		var list []node.Tensor[float64]
		for _, v := range in {
			shapes = append(shapes, graph.Shape{B: 1, C: 1})
			list = append(list, node.Tensor[float64]{Data: v, B: 1, C: 1, N: len(v)})
		}
		return flowtest.NewRig[float64](t, signal.DynamicsTypes(), &n, 48000, shapes, len(x)).Forward(t, list, []int{len(x)})[0].Data
	}
	with := func(params ...any) graph.Node {
		return flowtest.Node("Compressor", append([]any{"sidechain", "yes", "knee_db", 0.}, params...)...)
	}
	if a, b := give(with("lookahead", 9), x, x), give(flowtest.Node("Compressor", "knee_db", 0., "lookahead", 9), x); !slices.Equal(a, b) {
		t.Error("a key equal to the signal gives other bits than no side chain")
	}
	// A key of -20 dBFS, 10 dB above the threshold, with a ratio of 4: 7.5 dB less, once the attack is over.
	want := math.Pow(10, -7.5/20)
	for i, y := range give(with("threshold_db", -30., "attack", 1e-5), x, key)[1000:] {
		if math.Abs(y-want*x[1000+i]) > 1e-12*math.Abs(x[1000+i]) {
			t.Fatalf("frame %d is %v, want %v", 1000+i, y, want*x[1000+i])
		}
	}
	if y := give(with(), x, make([]float64, len(x))); !slices.Equal(x, y) {
		t.Error("a silent key changes the signal")
	}
}
