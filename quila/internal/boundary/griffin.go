package boundary

import (
	"math"

	"atenia/internal/kernel/dsp"
)

// griffinLim returns a signal whose short-time spectra have about the given
// magnitudes [frames][n/2+1], and how far they were off at the start of every
// round, relative to the magnitudes (D. Griffin and J. Lim, Signal estimation
// from modified short-time Fourier transform, 1984). Phases start at zero; the
// window is a periodic Hann, without padding [R-10.0w].
func griffinLim(magnitude [][]float64, n, hop, rounds int) (samples, errors []float64, err error) {
	if n < 2 || n%2 != 0 || hop < 1 || len(magnitude) == 0 {
		return nil, nil, &vqganShapeError{"Griffin–Lim: even window, at least", 2, n}
	}
	var energy float64
	for _, row := range magnitude {
		if len(row) != n/2+1 {
			return nil, nil, &vqganShapeError{"Griffin–Lim: bins of a frame", n/2 + 1, len(row)}
		}
		for _, a := range row {
			energy += a * a
		}
	}
	g := &griffin{n: n, hop: hop, fft: dsp.NewRealFFT[float64](n), window: make([]float64, n), frame: make([]float64, n)}
	for i := range g.window {
		g.window[i] = .5 - .5*math.Cos(2*math.Pi*float64(i)/float64(n))
	}
	g.x, g.weight = make([]float64, n+hop*(len(magnitude)-1)), make([]float64, n+hop*(len(magnitude)-1))
	bins := n/2 + 1
	re, im := make([]float64, bins*len(magnitude)), make([]float64, bins*len(magnitude))
	for t, row := range magnitude {
		copy(re[t*bins:], row)
	}
	g.synthesise(re, im)
	for range rounds {
		g.analyse(re, im)
		var off float64
		for t, row := range magnitude {
			for k, a := range row {
				i := t*bins + k
				h := math.Hypot(re[i], im[i])
				off += (h - a) * (h - a)
				if h >= 1e-12 {
					re[i], im[i] = a*(re[i]/h), a*(im[i]/h)
				} else {
					re[i], im[i] = a, 0
				}
			}
		}
		errors = append(errors, math.Sqrt(off/math.Max(energy, 1e-30)))
		g.synthesise(re, im)
	}
	return g.x, errors, nil
}

// A griffin goes from spectra to samples and back.
type griffin struct {
	n, hop                   int
	fft                      *dsp.RealFFT[float64]
	window, frame, x, weight []float64
}

// analyse writes the spectra of all frames.
func (g *griffin) analyse(re, im []float64) {
	bins := g.n/2 + 1
	for t := range len(re) / bins {
		for i, w := range g.window {
			g.frame[i] = w * g.x[t*g.hop+i]
		}
		g.fft.Forward(re[t*bins:(t+1)*bins], im[t*bins:(t+1)*bins], g.frame)
	}
}

// synthesise sets the samples to those whose spectra are nearest, in the sense of
// least squares: overlapping frames, windowed again, over the sum of squared
// windows, 0 where that is below 1e-8.
func (g *griffin) synthesise(re, im []float64) {
	bins := g.n/2 + 1
	clear(g.x)
	clear(g.weight)
	for t := range len(re) / bins {
		// The first and the last bin of a real signal have no imaginary part.
		im[t*bins], im[(t+1)*bins-1] = 0, 0
		g.fft.Inverse(g.frame, re[t*bins:(t+1)*bins], im[t*bins:(t+1)*bins])
		for i, w := range g.window {
			g.x[t*g.hop+i] += w * g.frame[i]
			g.weight[t*g.hop+i] += w * w
		}
	}
	for i, w := range g.weight {
		if w >= 1e-8 {
			g.x[i] /= w
		} else {
			g.x[i] = 0
		}
	}
}
