package media

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// back runs a stream over x in random steps and then goes back over them. It
// returns the frames and, for gradients dy of them, those of the samples.
func back(t *testing.T, s MelSettings, x []float64, seed uint64, dy func(frames int) []float64) (frames, dx []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	st, err := NewMelStream[float64](s)
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		state        []byte
		x            []float64
		first, given int
		flushed      bool
	}
	var steps []step
	row := make([]float64, s.Mels)
	take := func(k step, most int) bool {
		k.state = make([]byte, st.StateBytes())
		st.Save(k.state)
		st.Push(k.x)
		if k.flushed {
			st.Flush()
		}
		k.first = len(frames) / s.Mels
		for k.given < most && st.Next(row) {
			frames = append(frames, row...)
			k.given++
		}
		steps = append(steps, k)
		return k.given == most
	}
	const longest = 700
	for at := 0; at < len(x); {
		n := min(1+r.IntN(longest), len(x)-at)
		take(step{x: x[at : at+n]}, math.MaxInt)
		at += n
	}
	for most := 1 + r.IntN(5); take(step{flushed: true}, most); {
	}
	a, err := NewMelAdjoint[float64](s, longest)
	if err != nil {
		t.Fatal(err)
	}
	d := dy(len(frames) / s.Mels)
	dx = make([]float64, len(x))
	for i := len(x); len(steps) > 0; steps = steps[:len(steps)-1] {
		k := steps[len(steps)-1]
		i -= len(k.x)
		if err := a.Backward(k.state, dx[i:i+len(k.x)], k.x, k.flushed, d[k.first*s.Mels:][:k.given*s.Mels]); err != nil {
			t.Fatal(err)
		}
	}
	return frames, dx
}

// TestAdjoint: gradients of random signals agree with central differences of
// whole signals, and do not depend on how the signal was cut.
func TestAdjoint(t *testing.T) {
	t.Parallel()
	changes := []func(*MelSettings){
		func(*MelSettings) {},
		func(s *MelSettings) { s.FFT, s.Win, s.Pad, s.DropLast = 201, 133, "reflect", false },
		func(s *MelSettings) { s.Hop, s.Pad, s.Clamp = 37, "none", 0.7 },
		func(s *MelSettings) { s.DropLast, s.Pad, s.Clamp, s.Hop = true, "reflect", 0.4, 64 },
		func(s *MelSettings) {
			s.Pad, s.Floor, s.RemoveDC, s.Emphasis, s.Window = "zero", 0.02, true, 0.9, "povey"
		},
	}
	for _, name := range MelPresets() {
		for i, change := range changes {
			for _, peak := range []string{"running", "global"} {
				s := preset(t, name)
				s.SampleRate, s.FMax, s.FFT, s.Win, s.Hop, s.Mels, s.Peak = 8000, 4000, 128, 100, 50, 7, peak
				change(&s)
				t.Run(fmt.Sprintf("%s/%d/%s", name, i, peak), func(t *testing.T) { checkAdjoint(t, s, uint64(i)) })
			}
		}
	}
}

func checkAdjoint(t *testing.T, s MelSettings, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	x := noise[float64](seed, 300+r.IntN(1500))
	var z []float64 // gradients, frame by frame
	dy := func(frames int) []float64 {
		r := rand.New(rand.NewPCG(seed, 5))
		z = make([]float64, frames*s.Mels)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		return z
	}
	got, dx := back(t, s, x, 1, dy)
	f, err := NewMelFeatures[float64](s)
	if err != nil {
		t.Fatal(err)
	}
	value := func(x []float64) (sum float64) {
		y := f.Compute(nil, x)
		n := s.Frames(len(x))
		for i, v := range y {
			sum += v * z[i%n*s.Mels+i/n]
		}
		return sum
	}
	n := s.Frames(len(x))
	for i, v := range f.Compute(nil, x) {
		if got[i%n*s.Mels+i/n] != v {
			t.Fatalf("frame %d of %d differs from the whole signal", i%n, n)
		}
	}
	for seed := range uint64(3) {
		if _, again := back(t, s, x, 2+seed, dy); !slices.Equal(again, dx) {
			t.Error("the gradient depends on how the signal is cut")
		}
	}
	const h = 1e-6
	norm := 0.0
	for _, d := range dx {
		norm += d * d
	}
	for range 3 {
		v, want := make([]float64, len(x)), 0.0
		for i := range v {
			v[i] = r.NormFloat64()
			want += v[i] * dx[i]
		}
		move := func(by float64) []float64 {
			y := slices.Clone(x)
			for i := range y {
				y[i] += by * v[i]
			}
			return y
		}
		if d := (value(move(h)) - value(move(-h))) / (2 * h); math.Abs(d-want) > 1e-6*math.Sqrt(norm)+1e-6*math.Abs(d) {
			t.Errorf("derivative %.12g, difference %.12g", want, d)
		}
	}
}

// TestSpectrumAdjoint: ⟨A x, z⟩ = ⟨x, Aᵀ z⟩ for the linear part, from the samples
// of a frame to its spectrum.
func TestSpectrumAdjoint(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		s := preset(t, MelPresets()[r.IntN(4)])
		s.FFT = 4 + r.IntN(200)
		s.Win = 2 + r.IntN(s.FFT-1)
		s.Emphasis, s.RemoveDC, s.Pad = 2*r.Float64()-1, r.IntN(2) == 0, []string{"none", "zero", "reflect"}[r.IntN(3)]
		e, err := newEngine(s)
		if err != nil {
			t.Fatal(err)
		}
		length, _ := s.span()
		x, dx := make([]float64, length), make([]float64, length)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		re, im := make([]float64, s.Bins()), make([]float64, s.Bins())
		for k := range re {
			re[k], im[k] = r.NormFloat64(), r.NormFloat64()
		}
		e.spectrum(x)
		left, right, norms := 0.0, 0.0, 0.0
		for k := range re {
			left += e.re[k]*re[k] + e.im[k]*im[k]
			norms += math.Abs(e.re[k]*re[k]) + math.Abs(e.im[k]*im[k])
		}
		e.spectrumAdjoint(dx, re, im)
		for i, v := range dx {
			right += v * x[i]
		}
		if math.Abs(left-right) > 1e-12*norms {
			t.Errorf("%+v: ⟨Ax, z⟩ = %.17g, ⟨x, Aᵀz⟩ = %.17g", s, left, right)
		}
	}
}
