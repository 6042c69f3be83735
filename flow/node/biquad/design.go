package biquad

import (
	"math"

	"atenia/internal/dsp"
)

// kinds are the filters of the cookbook; "coefficients" gives the five numbers
// themselves.
var kinds = []string{"lowpass", "highpass", "bandpass", "notch", "allpass", "peaking", "lowshelf", "highshelf", "coefficients"}

// A response is what a filter is asked for.
type response struct{ f0, q, gain float64 } // Hz, -, dB

// A raw is b0, b1, b2, a0, a1, a2 before division by a0, or a derivative of them.
type raw [6]float64

// Design returns b0, b1, b2, a1 and a2 of a filter of the given kind, a corner or
// centre in Hz and a gain in dB, which only peaking filters and shelves have.
func Design(kind string, f0, q, gain, sampleRate float64) [5]float64 {
	c := design(kind, response{f0, q, gain}, sampleRate)
	return [5]float64{c.B0, c.B1, c.B2, c.A1, c.A2}
}

// design returns the coefficients of a filter of the given kind (Bristow-Johnson,
// Cookbook formulae for audio equalizer biquad filter coefficients, with α from
// Q; bandpass of constant 0 dB peak gain).
func design(kind string, p response, sampleRate float64) dsp.Coefficients {
	sin, cos := math.Sincos(2 * math.Pi * p.f0 / sampleRate)
	v, _, _, _ := cookbook(kind, cos, sin/(2*p.q), math.Exp(p.gain*(math.Ln10/40)))
	return dsp.Coefficients{B0: v[0] / v[3], B1: v[1] / v[3], B2: v[2] / v[3], A1: v[4] / v[3], A2: v[5] / v[3]}
}

// gradient takes the gradient of the coefficients to that of the response.
func gradient(kind string, p response, sampleRate float64, d dsp.Coefficients) response {
	turn := 2 * math.Pi / sampleRate
	sin, cos := math.Sincos(turn * p.f0)
	alpha, amp := sin/(2*p.q), math.Exp(p.gain*(math.Ln10/40))
	v, byCos, byAlpha, byAmp := cookbook(kind, cos, alpha, amp)
	// Numerator and denominator go in pairs: where they are equal, the filter is
	// the identity and its gradients cancel to the last bit.
	n := [6]float64{v[0] / v[3], v[1] / v[3], v[2] / v[3], 0, v[4] / v[3], v[5] / v[3]}
	norm := d.B0*n[0] + (d.B1*n[1] + d.A1*n[4]) + (d.B2*n[2] + d.A2*n[5])
	g := raw{d.B0 / v[3], d.B1 / v[3], d.B2 / v[3], -norm / v[3], d.A1 / v[3], d.A2 / v[3]}
	dCos, dAlpha, dAmp := 0.0, 0.0, 0.0
	for k, x := range g[:3] {
		a := g[3+k]
		dCos += x*byCos[k] + a*byCos[3+k]
		dAlpha += x*byAlpha[k] + a*byAlpha[3+k]
		dAmp += x*byAmp[k] + a*byAmp[3+k]
	}
	return response{
		f0:   turn * (dAlpha*cos/(2*p.q) - dCos*sin),
		q:    -dAlpha * alpha / p.q,
		gain: dAmp * amp * (math.Ln10 / 40),
	}
}

// cookbook returns a filter and its derivatives by cos w, α and A = 10^(gain/40).
func cookbook(kind string, c, al, a float64) (v, byCos, byAlpha, byAmp raw) {
	v = raw{3: 1 + al, 4: -2 * c, 5: 1 - al}
	byCos, byAlpha = raw{4: -2}, raw{3: 1, 5: -1}
	switch kind {
	case "lowpass":
		v[0], v[1], v[2] = (1-c)/2, 1-c, (1-c)/2
		byCos[0], byCos[1], byCos[2] = -.5, -1, -.5
	case "highpass":
		v[0], v[1], v[2] = (1+c)/2, -1-c, (1+c)/2
		byCos[0], byCos[1], byCos[2] = .5, -1, .5
	case "bandpass":
		v[0], v[2] = al, -al
		byAlpha[0], byAlpha[2] = 1, -1
	case "notch":
		v[0], v[1], v[2] = 1, -2*c, 1
		byCos[1] = -2
	case "allpass":
		v[0], v[1], v[2] = 1-al, -2*c, 1+al
		byCos[1], byAlpha[0], byAlpha[2] = -2, -1, 1
	case "peaking":
		v = raw{1 + al*a, -2 * c, 1 - al*a, 1 + al/a, -2 * c, 1 - al/a}
		byCos[1] = -2
		byAlpha = raw{a, 0, -a, 1 / a, 0, -1 / a}
		byAmp = raw{al, 0, -al, -al / (a * a), 0, al / (a * a)}
	case "lowshelf":
		return shelf(1, c, al, a)
	case "highshelf":
		return shelf(-1, c, al, a)
	}
	return v, byCos, byAlpha, byAmp
}

// shelf is the shelf below (s = 1) or above (s = -1) the corner.
func shelf(s, c, al, a float64) (v, byCos, byAlpha, byAmp raw) {
	root := math.Sqrt(a)
	r, rAlpha, rAmp := 2*root*al, 2*root, al/root
	p, m := a+1-s*(a-1)*c, a+1+s*(a-1)*c
	v = raw{a * (p + r), s * 2 * a * (a - 1 - s*(a+1)*c), a * (p - r), m + r, -s * 2 * (a - 1 + s*(a+1)*c), m - r}
	byCos = raw{-a * s * (a - 1), -2 * a * (a + 1), -a * s * (a - 1), s * (a - 1), -2 * (a + 1), s * (a - 1)}
	byAlpha = raw{a * rAlpha, 0, -a * rAlpha, rAlpha, 0, -rAlpha}
	byAmp = raw{
		p + r + a*(1-s*c+rAmp), 2 * s * (a - 1 - s*(a+1)*c + a*(1-s*c)), p - r + a*(1-s*c-rAmp),
		1 + s*c + rAmp, -2 * s * (1 + s*c), 1 + s*c - rAmp,
	}
	return v, byCos, byAlpha, byAmp
}
