package media

// This file holds the mel scales and the triangles of the bands.

import "math"

// A scale converts Hz to mel and back.
type scale struct{ to, back func(float64) float64 }

// Slaney's scale (Auditory Toolbox): linear below 1 kHz, then 27 steps per
// factor of 6.4.
const (
	slaneyLinear = 200.0 / 3 // Hz per mel below the knee
	slaneyKnee   = 1000.0    // Hz
)

var slaneyLog = math.Log(6.4) / 27

var scales = map[string]scale{
	"htk": {
		func(f float64) float64 { return 2595 * math.Log10(1+f/700) },
		func(m float64) float64 { return 700 * (math.Pow(10, m/2595) - 1) },
	},
	"kaldi": {
		func(f float64) float64 { return 1127 * math.Log(1+f/700) },
		func(m float64) float64 { return 700 * (math.Exp(m/1127) - 1) },
	},
	"slaney": {
		func(f float64) float64 {
			if f < slaneyKnee {
				return f / slaneyLinear
			}
			return slaneyKnee/slaneyLinear + math.Log(f/slaneyKnee)/slaneyLog
		},
		func(m float64) float64 {
			if m < slaneyKnee/slaneyLinear {
				return m * slaneyLinear
			}
			return slaneyKnee * math.Exp(slaneyLog*(m-slaneyKnee/slaneyLinear))
		},
	},
}

// A MelBand is one row of the mel matrix: the weights of the bins from First on;
// all others are zero.
type MelBand struct {
	First   int
	Weights []float64
}

// MelMatrix returns the bands of the settings, lowest first. The energy of a band
// is the sum of the weights times the powers of the bins.
func MelMatrix(s MelSettings) ([]MelBand, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	sc := scales[s.Scale]
	low, high := sc.to(s.FMin), sc.to(s.FMax)
	edges := make([]float64, s.Mels+2) // in mel for kaldi, else in Hz
	for i := range edges {
		edges[i] = low + (high-low)*float64(i)/float64(s.Mels+1)
	}
	edges[len(edges)-1] = high
	at := make([]float64, s.Bins())
	for k := range at {
		at[k] = float64(k) * s.SampleRate / float64(s.FFT)
	}
	if s.Scale == "kaldi" {
		for k := range at {
			at[k] = sc.to(at[k])
		}
		at = at[:len(at)-1] // the last bin is left out
	} else {
		for i := range edges {
			edges[i] = sc.back(edges[i])
		}
	}
	bands := make([]MelBand, s.Mels)
	for m := range bands {
		bands[m] = triangle(edges[m], edges[m+1], edges[m+2], at)
		if s.Norm == "slaney" {
			for i := range bands[m].Weights {
				bands[m].Weights[i] *= 2 / (edges[m+2] - edges[m])
			}
		}
	}
	return bands, nil
}

// triangle rises from a to b and falls to c; at is ascending.
func triangle(a, b, c float64, at []float64) MelBand {
	var band MelBand
	for k, x := range at {
		w := min((x-a)/(b-a), (c-x)/(c-b))
		if !(w > 0) {
			continue
		}
		if band.Weights == nil {
			band.First = k
		}
		band.Weights = append(band.Weights, w)
	}
	return band
}
