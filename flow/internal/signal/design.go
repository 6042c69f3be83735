package signal

import (
	"math"
	"slices"

	"atenia/internal/kernel/dsp"
)

// A kind is a filter response: lowpass, highpass and so on.
type kind int

const (
	lowpass kind = iota
	highpass
	bandpass
	notch
	allpass
	peaking
	lowshelf
	highshelf
	coefficients // given directly
)

var kinds = []string{"lowpass", "highpass", "bandpass", "notch", "allpass", "peaking", "lowshelf", "highshelf", "coefficients"}

// A biquadResponse is the parameters of a design.
type biquadResponse struct{ f0, q, gain float64 } // Hz, -, dB

// A raw is b0, b1, b2, a0, a1, a2 before division by a0, or a derivative of
// them.
type raw [6]float64

// DesignBiquad returns b0, b1, b2, a1 and a2 of the filter of the named kind, with a
// corner or centre frequency in Hz and a gain in dB, which only peaking filters
// and shelves use. It returns false for an unknown kind.
func DesignBiquad(name string, f0, q, gain, sampleRate float64) ([5]float64, bool) {
	k := slices.Index(kinds[:coefficients], name)
	c := design(kind(k), biquadResponse{f0, q, gain}, sampleRate)
	return [5]float64{c.B0, c.B1, c.B2, c.A1, c.A2}, k >= 0
}

// design returns the coefficients of a filter (Bristow-Johnson, Cookbook formulae
// for audio equalizer biquad filter coefficients, with α from Q; bandpass of
// constant 0 dB peak gain).
func design(k kind, p biquadResponse, sampleRate float64) dsp.Coefficients {
	c, alpha, amp := k.angles(p, sampleRate)
	v := k.cookbook(c, alpha, amp)
	return dsp.Coefficients{B0: v[0] / v[3], B1: v[1] / v[3], B2: v[2] / v[3], A1: v[4] / v[3], A2: v[5] / v[3]}
}

// angles returns cos w, α and A = 10^(gain/40), which is 1 for kinds without
// gain.
func (k kind) angles(p biquadResponse, sampleRate float64) (c, alpha, amp float64) {
	sin, c := turn(p.f0 / sampleRate)
	amp = 1
	if k >= peaking {
		amp = math.Exp(p.gain * (math.Ln10 / 40))
	}
	return c, sin / (2 * p.q), amp
}

// gradient maps the gradient of the coefficients to that of the response.
func gradient(k kind, p biquadResponse, sampleRate float64, d dsp.Coefficients) biquadResponse {
	c, alpha, amp := k.angles(p, sampleRate)
	v := k.cookbook(c, alpha, amp)
	byCos, byAlpha, byAmp := k.slopes(c, alpha, amp)
	// Numerator and denominator are paired: where they are equal the filter is
	// the identity, and its gradients cancel to the last bit.
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
	turn, sin := 2*math.Pi/sampleRate, 2*p.q*alpha
	return biquadResponse{
		f0:   turn * (dAlpha*c/(2*p.q) - dCos*sin),
		q:    -dAlpha * alpha / p.q,
		gain: dAmp * amp * (math.Ln10 / 40),
	}
}

// turn returns the sine and cosine of 2πt.
func turn(t float64) (sin, cos float64) {
	if t >= 0 && t <= 1 {
		return dsp.Turn(t)
	}
	return math.Sincos(2 * math.Pi * t)
}

// cookbook returns a filter's coefficients before normalization.
func (k kind) cookbook(c, al, a float64) raw {
	switch k {
	case lowpass:
		return raw{(1 - c) / 2, 1 - c, (1 - c) / 2, 1 + al, -2 * c, 1 - al}
	case highpass:
		return raw{(1 + c) / 2, -1 - c, (1 + c) / 2, 1 + al, -2 * c, 1 - al}
	case bandpass:
		return raw{al, 0, -al, 1 + al, -2 * c, 1 - al}
	case notch:
		return raw{1, -2 * c, 1, 1 + al, -2 * c, 1 - al}
	case allpass:
		return raw{1 - al, -2 * c, 1 + al, 1 + al, -2 * c, 1 - al}
	case peaking:
		return raw{1 + al*a, -2 * c, 1 - al*a, 1 + al/a, -2 * c, 1 - al/a}
	}
	s := k.side()
	r, p, m := 2*math.Sqrt(a)*al, a+1-s*(a-1)*c, a+1+s*(a-1)*c
	return raw{a * (p + r), s * 2 * a * (a - 1 - s*(a+1)*c), a * (p - r), m + r, -s * 2 * (a - 1 + s*(a+1)*c), m - r}
}

// side is 1 for a low shelf, -1 for a high shelf.
func (k kind) side() float64 {
	if k == lowshelf {
		return 1
	}
	return -1
}

// slopes returns the derivatives of the coefficients by cos w, α and A.
func (k kind) slopes(c, al, a float64) (byCos, byAlpha, byAmp raw) {
	byCos, byAlpha = raw{4: -2}, raw{3: 1, 5: -1}
	switch k {
	case lowpass:
		byCos = raw{-.5, -1, -.5, 0, -2, 0}
	case highpass:
		byCos = raw{.5, -1, .5, 0, -2, 0}
	case bandpass:
		byAlpha = raw{1, 0, -1, 1, 0, -1}
	case notch:
		byCos[1] = -2
	case allpass:
		byCos[1], byAlpha = -2, raw{-1, 0, 1, 1, 0, -1}
	case peaking:
		byCos[1] = -2
		byAlpha = raw{a, 0, -a, 1 / a, 0, -1 / a}
		byAmp = raw{al, 0, -al, -al / (a * a), 0, al / (a * a)}
	case lowshelf, highshelf:
		return k.shelfSlopes(c, al, a)
	}
	return byCos, byAlpha, byAmp
}

func (k kind) shelfSlopes(c, al, a float64) (byCos, byAlpha, byAmp raw) {
	s, root := k.side(), math.Sqrt(a)
	r, rAlpha, rAmp := 2*root*al, 2*root, al/root
	p := a + 1 - s*(a-1)*c
	byCos = raw{-a * s * (a - 1), -2 * a * (a + 1), -a * s * (a - 1), s * (a - 1), -2 * (a + 1), s * (a - 1)}
	byAlpha = raw{a * rAlpha, 0, -a * rAlpha, rAlpha, 0, -rAlpha}
	byAmp = raw{
		p + r + a*(1-s*c+rAmp), 2 * s * (a - 1 - s*(a+1)*c + a*(1-s*c)), p - r + a*(1-s*c-rAmp),
		1 + s*c + rAmp, -2 * s * (1 + s*c), 1 + s*c - rAmp,
	}
	return byCos, byAlpha, byAmp
}
