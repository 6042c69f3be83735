package signal

import (
	"math"

	"atenia/internal/kernel/dsp"
)

// A shape is a waveform of period 1.
type shape int

const (
	sine shape = iota
	saw
	square
	triangle
)

var shapes = []string{"sine", "saw", "square", "triangle"}

// value returns the waveform at phase t, in [0, 1), when it advances by d per
// frame. Steps and corners are rounded over a frame on either side by
// polynomials, which moves most of the aliasing out of hearing (polyBLEP;
// Välimäki and Huovilainen, Antialiasing oscillators in subtractive synthesis,
// 2007).
func (s shape) value(t, d float64) float64 {
	switch s {
	case sine:
		return dsp.SinTurn(t)
	case saw:
		return 2*t - 1 - step(t, d)
	case square:
		v := step(t, d) - step(half(t), d)
		if t < .5 {
			return 1 + v
		}
		return -1 + v
	}
	return 1 - 4*math.Abs(t-.5) + 8*d*(ramp(t, d)-ramp(half(t), d))
}

// slope returns the value and its derivatives by t and by d.
func (s shape) slope(t, d float64) (v, byT, byD float64) {
	switch s {
	case sine:
		sin, cos := dsp.Turn(t)
		return sin, 2 * math.Pi * cos, 0
	case saw:
		byT, byD = stepSlope(t, d)
		return s.value(t, d), 2 - byT, -byD
	case square:
		t1, d1 := stepSlope(t, d)
		t2, d2 := stepSlope(half(t), d)
		return s.value(t, d), t1 - t2, d1 - d2
	}
	u := half(t)
	t1, d1 := rampSlope(t, d)
	t2, d2 := rampSlope(u, d)
	byT = 8 * d * (t1 - t2)
	if t < .5 {
		byT += 4
	} else {
		byT -= 4
	}
	return s.value(t, d), byT, 8*(ramp(t, d)-ramp(u, d)) + 8*d*(d1-d2)
}

// half returns the phase half a period later.
func half(t float64) float64 {
	if t >= .5 {
		return t - .5
	}
	return t + .5
}

// step is the correction around a step of 2 at v = 0.
func step(v, d float64) float64 {
	switch {
	case v < d:
		a := v / d
		return 2*a - a*a - 1
	case v > 1-d:
		b := (v - 1) / d
		return b*b + 2*b + 1
	}
	return 0
}

func stepSlope(v, d float64) (byV, byD float64) {
	switch {
	case v < d:
		a := v / d
		return (2 - 2*a) / d, -a * (2 - 2*a) / d
	case v > 1-d:
		b := (v - 1) / d
		return (2 + 2*b) / d, -b * (2 + 2*b) / d
	}
	return 0, 0
}

// ramp is the integral of step: a corner at v = 0 where the slope grows by 1
// per frame.
func ramp(v, d float64) float64 {
	switch {
	case v < d:
		a := 1 - v/d
		return a * a * a / 6
	case v > 1-d:
		b := 1 - (1-v)/d
		return b * b * b / 6
	}
	return 0
}

func rampSlope(v, d float64) (byV, byD float64) {
	switch {
	case v < d:
		a := 1 - v/d
		return -a * a / (2 * d), a * a / 2 * v / (d * d)
	case v > 1-d:
		b := 1 - (1-v)/d
		return b * b / (2 * d), b * b / 2 * (1 - v) / (d * d)
	}
	return 0, 0
}
