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

func TestLoudnessNode(t *testing.T) {
	for _, c := range []flowtest.Case{
		{Node: flowtest.Node("Loudness", "hop", 400), In: []graph.Shape{{B: 1, C: 6}}, Tokens: 40, SampleRate: 8000},
		{Node: flowtest.Node("Loudness", "hop", 200), In: []graph.Shape{{B: 1, C: 2}}, Tokens: 140, SampleRate: 8000},
		{Node: flowtest.Node("Loudness", "hop", 100), In: []graph.Shape{{B: 1, C: 1}}, Tokens: 9},
	} {
		flowtest.CheckNode(t, signal.MeterTypes(), c)
	}
}

// A tone is a part of a test signal: dBFS of each channel, seconds.
type tone struct {
	level   []float64
	seconds float64
}

// tones returns a sine of 1 kHz whose channels follow the levels, at 48 kHz.
func tones(parts ...tone) node.Tensor[float32] {
	frames := func(s float64) int { return int(math.Round(s * 48000)) }
	n := 0
	for _, p := range parts {
		n += frames(p.seconds)
	}
	n -= n % 4800
	x := flowtest.NewTensor[float32](graph.Shape{B: 1, C: len(parts[0].level)}, n)
	var period [48]float64
	for i := range period {
		period[i] = math.Sin(2 * math.Pi * float64(i) / 48)
	}
	for c := range x.C {
		at := 0
		for _, p := range parts {
			amplitude := math.Pow(10, p.level[c]/20)
			for range min(frames(p.seconds), n-at) {
				x.Row(c)[at] = float32(amplitude * period[at%48])
				at++
			}
		}
	}
	return x
}

// stereo returns parts of equal level in two channels.
func stereo(levelsAndSeconds ...float64) (parts []tone) {
	for i := 0; i < len(levelsAndSeconds); i += 2 {
		parts = append(parts, tone{[]float64{levelsAndSeconds[i], levelsAndSeconds[i]}, levelsAndSeconds[i+1]})
	}
	return parts
}

// A reading is what a Loudness node gives, by output and report.
type reading [5][]float64

func (r *reading) last(output int) float64 { return r[output][len(r[output])-1] }

// read meters a signal at 48 kHz.
func read[F node.Float](t *testing.T, x node.Tensor[F]) (r reading) {
	t.Helper()
	n := flowtest.Node("Loudness")
	tokens := x.N / 4800
	g := flowtest.NewRig[F](t, signal.MeterTypes(), &n, 48000, []graph.Shape{{B: 1, C: x.C}}, tokens)
	for i, y := range g.Forward(t, []node.Tensor[F]{x}, []int{tokens}) {
		for _, v := range y.Row(0) {
			r[i] = append(r[i], float64(v))
		}
	}
	return r
}

// Outputs of the meter.
const (
	momentary = iota
	shortTerm
	integrated
	loudnessRange
	truePeak
)

// TestTech3341 runs the synthetic signals of EBU Tech 3341, table 1, with its tolerances.
func TestTech3341(t *testing.T) {
	t.Parallel()
	repeat := func(n int, parts []tone) (all []tone) {
		for range n {
			all = append(all, parts...)
		}
		return all
	}
	const all = -1
	for _, c := range []struct {
		number int
		parts  []tone
		want   float64
		of     int // output; momentary, short-term and integrated
		from   int // hops from which on it must hold; -1: at the end
	}{
		{1, stereo(-23, 20), -23, all, -1},
		{2, stereo(-33, 20), -33, all, -1},
		{3, stereo(-36, 10, -23, 60, -36, 10), -23, integrated, -1},
		{4, stereo(-72, 10, -36, 10, -23, 60, -36, 10, -72, 10), -23, integrated, -1},
		{5, stereo(-26, 20, -20, 20.1, -26, 20), -23, integrated, -1},
		{6, []tone{{[]float64{-28, -28, -24, -30, -30}, 20}}, -23, integrated, -1},
		{9, repeat(5, stereo(-20, 1.34, -30, 1.66)), -23, shortTerm, 30},
		{12, repeat(25, stereo(-20, 0.18, -30, 0.22)), -23, momentary, 10},
	} {
		r := read(t, tones(c.parts...))
		for _, of := range []int{momentary, shortTerm, integrated} {
			if of != c.of && c.of != all {
				continue
			}
			from := c.from
			if from < 0 {
				from = len(r[of]) - 1
			}
			for k, v := range r[of][from:] {
				if !(math.Abs(v-c.want) <= 0.1) {
					t.Errorf("case %d, output %d after %d hops: %v LUFS, want %v within 0.1", c.number, of, from+k+1, v, c.want)
					break
				}
			}
		}
	}
	for _, c := range []struct {
		number                        int
		divisor, phase, amplitude, db float64
	}{{15, 4, 0, 0.5, -6}, {16, 4, 45, 0.5, -6}, {17, 6, 60, 0.5, -6}, {18, 8, 67.5, 0.5, -6}, {19, 4, 45, 1.41, 3}} {
		x := sine(2, 1, 1000, 0)
		for ch := range 2 {
			for i := range x.N {
				x.Row(ch)[i] = c.amplitude * math.Sin(2*math.Pi*(float64(i)/c.divisor+c.phase/360))
			}
			// The document fades its signals in and out, so that the edges have no overshoot.
			for i := range 4800 {
				x.Row(ch)[i] *= float64(i) / 4800
				x.Row(ch)[x.N-1-i] *= float64(i) / 4800
			}
		}
		r := read(t, x)
		if v := r.last(truePeak); !(v <= c.db+0.2 && v >= c.db-0.4) {
			t.Errorf("case %d: %v dBTP, want %v, +0.2 or -0.4", c.number, v, c.db)
		}
	}
}

// TestTech3342 runs the synthetic signals of EBU Tech 3342, table 1, with its tolerance of 1 LU.
func TestTech3342(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		parts []tone
		want  float64
	}{
		{stereo(-20, 20, -30, 20), 10},
		{stereo(-20, 20, -15, 20), 5},
		{stereo(-40, 20, -20, 20), 20},
		{stereo(-50, 20, -35, 20, -20, 20, -35, 20, -50, 20), 15},
	} {
		r := read(t, tones(c.parts...))
		if v := r.last(loudnessRange); !(math.Abs(v-c.want) <= 1) {
			t.Errorf("case %d: %v LU, want %v within 1", i+1, v, c.want)
		}
	}
}

// TestLoudnessSorted compares the histograms with the definition: sorted blocks, percentiles and gates without bins, on
// noise that changes its level. A bin is 0.1 LU wide, and so is the tolerance.
func TestLoudnessSorted(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if await.Long() {
		seeds = 2
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 3342))
		x := flowtest.NewTensor[float32](graph.Shape{B: 1, C: 1}, 60*48000)
		level := 0.1
		for i := range x.N {
			if i%12000 == 0 {
				level = math.Pow(10, -3*rnd.Float64())
			}
			x.Row(0)[i] = float32(level * rnd.NormFloat64())
		}
		r := read(t, x)
		blocks := func(of int) (b []float64) {
			for _, v := range r[of] {
				if v > -70 {
					b = append(b, v)
				}
			}
			return b
		}
		if got, want := r.last(integrated), meanAbove(blocks(momentary), -10); math.Abs(got-want) > 0.1 {
			t.Errorf("seed %d: %v LUFS, the blocks have %v", seed, got, want)
		}
		if got, want := r.last(loudnessRange), percentiles(blocks(shortTerm), -20); math.Abs(got-want) > 0.1 {
			t.Errorf("seed %d: a range of %v LU, the blocks have %v", seed, got, want)
		}
	}
}

// TestLoudnessBounds: whatever comes in, the meter does not panic.
func TestLoudnessBounds(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"Loudness", "Meter"} {
		for _, v := range []float64{0, 1e6, 1e200, math.Inf(1), math.NaN()} {
			n := flowtest.Node(typ, "hop", 800)
			x := flowtest.NewTensor[float64](graph.Shape{B: 1, C: 1}, 40000)
			for i := range x.N {
				x.Row(0)[i] = v * math.Sin(float64(i))
			}
			flowtest.NewRig[float64](t, signal.MeterTypes(), &n, 8000, []graph.Shape{{B: 1, C: 1}}, 50).Forward(t, []node.Tensor[float64]{x}, []int{50})
		}
	}
}

func Example_loudness() {
	n := flowtest.Node("Loudness")
	spec, err := signal.MeterTypes().Describe(&n)
	fmt.Println(spec.Outs, err)
	// Output: [momentary short_term integrated range true_peak] <nil>
}
