package media

// This file computes one frame: from samples to log mel energies.

import (
	"math"

	"atenia/internal/kernel/dsp"
)

// MelFloat is the type of a sample.
type MelFloat interface{ float32 | float64 }

// An engine holds the tables and scratch memory of a frame's arithmetic.
type engine struct {
	MelSettings
	window []float64 // [Win]
	bands  []MelBand
	real   *dsp.RealFFT[float64]
	x      []float64 // [FFT] a frame
	re, im []float64 // [Bins]
	power  []float64 // [Bins]
}

func newEngine(s MelSettings) (*engine, error) {
	bands, err := MelMatrix(s)
	if err != nil {
		return nil, err
	}
	return &engine{
		MelSettings: s, window: window(s), bands: bands, real: dsp.NewRealFFT[float64](s.FFT),
		x: make([]float64, s.FFT), re: make([]float64, s.Bins()), im: make([]float64, s.Bins()), power: make([]float64, s.Bins()),
	}, nil
}

// window returns the Win weights of a frame's samples.
func window(s MelSettings) []float64 {
	w := make([]float64, s.Win)
	for i := range w {
		if s.Window == "povey" {
			w[i] = math.Pow(0.5-0.5*math.Cos(2*math.Pi*float64(i)/float64(s.Win-1)), 0.85)
		} else {
			w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(s.Win))
		}
	}
	return w
}

// spectrum stores the powers of the frame's bins in e.power. x holds the
// samples that span returns; the window is centred in it.
func (e *engine) spectrum(x []float64) {
	off := (len(x) - e.Win) / 2
	x = x[off:][:e.Win]
	mean := 0.0
	if e.RemoveDC {
		for _, v := range x {
			mean += v
		}
		mean /= float64(e.Win)
	}
	at := min(off, e.FFT-e.Win)
	clear(e.x)
	in := e.x[at:][:e.Win]
	last := x[0] - mean // the sample before the first counts as equal to it
	for i, v := range x {
		v -= mean
		in[i] = (v - e.Emphasis*last) * e.window[i]
		last = v
	}
	e.real.Forward(e.re, e.im, e.x)
	for k, r := range e.re {
		e.power[k] = r*r + e.im[k]*e.im[k]
	}
}

// frame writes the logarithms of the bands, before clamping, to dst, one for each, and
// returns the largest of them and before.
func (e *engine) frame(dst, x []float64, before float64) float64 {
	e.spectrum(x)
	for m, b := range e.bands {
		sum := 0.0
		power := e.power[b.First:][:len(b.Weights)]
		for i, w := range b.Weights {
			sum += w * power[i]
		}
		dst[m] = e.level(sum)
		before = max(before, dst[m])
	}
	return before
}

// level returns the logarithm of an energy.
func (e *engine) level(v float64) float64 {
	switch e.Log {
	case "log10":
		return math.Log(max(v, e.Floor)) * (1 / math.Ln10)
	case "db":
		return math.Log(max(v, e.Floor)) * (10 / math.Ln10)
	case "ln_add":
		return math.Log(v + e.Floor)
	}
	return math.Log(max(v, e.Floor))
}

// Models of the Whisper family read logarithms shifted and scaled to about
// -1..1.
const whisperShift, whisperScale = 4, 4

// finish clamps a level against the maximum and scales it as the kind of
// logarithm requires.
func (e *engine) finish(v, peak float64) float64 {
	if e.Clamp > 0 {
		v = max(v, peak-e.Clamp)
	}
	if e.Log == "log10" {
		return (v + whisperShift) / whisperScale
	}
	return v
}
