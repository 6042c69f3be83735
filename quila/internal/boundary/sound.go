package boundary

import (
	"fmt"
	"math"

	"atenia/flow/media"
)

// SampleRate is that of sound, in Hz.
const SampleRate = 8000

// Log-mel pictures: 32 bands, a frame every 16 ms.
const (
	bands  = 32
	window = 256
	hop    = 128
)

// Samples is how many samples a picture of so many frames shows.
func Samples(frames int) int { return window + hop*(frames-1) }

// Log energies are shown as −1 to 1: a floor of 1e-5, and a full
// sine.
const (
	levelCentre = -2
	levelScale  = 10
)

func melSettings() media.MelSettings {
	return media.MelSettings{SampleRate: SampleRate, FFT: window, Win: window, Hop: hop, Mels: bands, Scale: "htk", Log: "ln",
		Floor: 1e-5, FMax: SampleRate / 2, Pad: "none", Window: "hann"}
}

// A Sound turns samples into log-mel pictures and back. It may be used by one
// goroutine at a time.
type Sound struct {
	features *media.MelFeatures[float32]
	filters  []media.MelBand
	levels   []float32
}

// NewSound returns a Sound.
func NewSound() (*Sound, error) {
	f, err := media.NewMelFeatures[float32](melSettings())
	if err != nil {
		return nil, err
	}
	filters, err := media.MelMatrix(melSettings())
	return &Sound{features: f, filters: filters}, err
}

// Picture writes the picture of samples to dst, frame by frame, band by band; see
// [Samples].
func (s *Sound) Picture(dst, samples []float32) error {
	frames := melSettings().Frames(len(samples))
	if len(dst) != frames*bands || frames == 0 {
		return &vqganShapeError{"picture of sound: values", frames * bands, len(dst)}
	}
	s.levels = s.features.Compute(s.levels, samples)
	for m := range bands {
		for t := range frames {
			dst[t*bands+m] = (s.levels[m*frames+t] - levelCentre) / levelScale
		}
	}
	return nil
}

// Samples returns sound that has about the given picture [R-10.0w].
func (s *Sound) Samples(picture []float32) ([]float32, error) {
	frames := len(picture) / bands
	if frames == 0 || frames*bands != len(picture) {
		return nil, &vqganShapeError{"picture of sound: values of a frame", bands, len(picture)}
	}
	magnitude := make([][]float64, frames)
	level := make([]float64, bands)
	for t := range magnitude {
		for m := range level {
			v := float64(picture[t*bands+m])
			if !(math.Abs(v) <= 10) {
				return nil, fmt.Errorf("%w: band %d of frame %d is %v", errVQGANShape, m, t, v)
			}
			level[m] = v*levelScale + levelCentre
		}
		magnitude[t] = bandPower(level, s.filters, window/2+1)
		for k, p := range magnitude[t] {
			magnitude[t][k] = math.Sqrt(p)
		}
	}
	x, _, err := griffinLim(magnitude, window, hop, 32)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out, nil
}

// bandPower returns a power spectrum of so many bins whose bands have about the
// given logarithms of energies, by 16 multiplicative rounds that minimise the
// Kullback–Leibler divergence from 1 in every bin. A bin that no band sees has
// none.
func bandPower(level []float64, filters []media.MelBand, bins int) []float64 {
	sum, power := make([]float64, bins), make([]float64, bins)
	for _, f := range filters {
		for i, w := range f.Weights {
			sum[f.First+i] += w
		}
	}
	for k, s := range sum {
		if s > 0 {
			power[k] = 1
		}
	}
	factor := make([]float64, bins)
	for range 16 {
		clear(factor)
		for m, f := range filters {
			var have float64
			for i, w := range f.Weights {
				have += w * power[f.First+i]
			}
			ratio := math.Exp(level[m]) / math.Max(have, 1e-12)
			for i, w := range f.Weights {
				factor[f.First+i] += w * ratio
			}
		}
		for k, s := range sum {
			if s > 0 {
				power[k] *= factor[k] / s
			}
		}
	}
	return power
}
