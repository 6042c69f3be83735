package boundary

import (
	"math"

	"atenia/quila/internal/weights"
)

// Pairs is the number of meanings that pictures and sounds share: three shapes
// and waveforms, eight hues and pitches, two sizes and loudness contours.
const Pairs = 48

// Side is the side of a picture that [Shape] draws.
const Side = 32

// uniformVQGAN is a word as a number from lo to hi.
func uniformVQGAN(word uint32, lo, hi float64) float64 { return lo + (hi-lo)*float64(word)*0x1p-32 }

// sites of the corpus, told apart by the neuron of a stream.
const (
	shapeSite = 0x5A9E0000
	toneSite  = 0x70E50000
)

// Shape draws picture number index of a corpus: a disc, a square or a triangle
// anywhere, of any hue and size, on a dark ground of any hue. If meaning is not
// negative, shape, hue and size are those of that meaning, see [Pairs], and the
// ground is grey.
func Shape(dst []float32, seed, index uint64, meaning int) {
	w := weights.Stream{Seed: seed, Neuron: shapeSite, Tick: index, Site: weights.Corpus}.Words(12)
	kind, hue, radius := weights.Choice(w[0], 3), uniformVQGAN(w[1], 0, 1), uniformVQGAN(w[2], 5, 11)
	if meaning >= 0 {
		kind, hue, radius = meaning%3, float64(meaning/3%8)/8, 7+4*float64(meaning/24%2)
	}
	cx, cy := uniformVQGAN(w[3], radius, Side-radius), uniformVQGAN(w[4], radius, Side-radius)
	front, ground := colour(hue, .5), colour(uniformVQGAN(w[5], 0, 1), uniformVQGAN(w[6], -.9, -.4))
	if meaning >= 0 { // the ground's hue would be another meaning
		v := uniformVQGAN(w[6], -.9, -.4)
		ground = [3]float64{v, v, v}
	}
	for y := range Side {
		for x := range Side {
			d := distance(kind, float64(x)+.5-cx, float64(y)+.5-cy, radius)
			cover := math.Min(math.Max(.5-d, 0), 1)
			for c := range 3 {
				dst[(y*Side+x)*3+c] = float32(ground[c] + cover*(front[c]-ground[c]))
			}
		}
	}
}

// colour is a saturated colour of a hue from 0 to 1 and a mean value.
func colour(hue, value float64) (rgb [3]float64) {
	for c := range rgb {
		v := value + .5*math.Cos(2*math.Pi*(hue-float64(c)/3))
		rgb[c] = math.Min(math.Max(v, -1), 1)
	}
	return rgb
}

// distance is how far a point lies outside of a shape about the origin.
func distance(kind int, x, y, radius float64) float64 {
	switch kind {
	case 0:
		return math.Hypot(x, y) - radius
	case 1:
		return math.Max(math.Abs(x), math.Abs(y)) - .85*radius
	}
	side := .866*math.Abs(x) - .5*y // the sloping sides of a triangle
	return math.Max(side, y) - .5*radius
}

// Tone plays sound number index: a sine, odd harmonics or all harmonics, of any
// pitch in three octaves, steady or pulsing, with a little noise. A meaning that
// is not negative fixes these three; see [Pairs].
func Tone(dst []float32, seed, index uint64, meaning int) {
	s := weights.Stream{Seed: seed, Neuron: toneSite, Tick: index, Site: weights.Corpus}
	w := s.Words(8)
	height := uniformVQGAN(w[4], 0, 1)
	if meaning < 0 {
		meaning = weights.Choice(w[0], Pairs)
	} else {
		height = float64(meaning/3%8) / 8
	}
	pitch := 220 * math.Pow(2, 3*height)
	phase, loud := uniformVQGAN(w[1], 0, 2*math.Pi), uniformVQGAN(w[2], .3, .6)
	pulse := uniformVQGAN(w[3], 0, 2*math.Pi)
	s.Neuron++
	noise := make([]float64, len(dst))
	s.Normal(noise)
	for i := range dst {
		at := float64(i) / SampleRate
		var v float64
		for h := 1; h <= 7; h++ {
			switch {
			case h > 1 && meaning%3 == 0, h%2 == 0 && meaning%3 == 1, float64(h)*pitch > .45*SampleRate:
				continue
			}
			v += math.Sin(float64(h)*(2*math.Pi*pitch*at+phase)) / float64(h)
		}
		if meaning/24%2 == 1 {
			v *= .5 + .5*math.Sin(2*math.Pi*8*at+pulse)
		}
		dst[i] = float32(loud*v + 1e-4*noise[i])
	}
}
