package media

// This file computes the features of whole signals.

import "math"

// A MelFeatures computes the features of whole signals with samples of type F.
// [NewMelFeatures] makes one. It owns scratch memory and may be used by one goroutine at a time.
type MelFeatures[F MelFloat] struct {
	e     *engine
	frame []float64 // the samples of a frame
	level []float64 // [Mels]
}

// NewMelFeatures returns features with those settings; see [MelSettings.Check] for the
// errors.
func NewMelFeatures[F MelFloat](s MelSettings) (*MelFeatures[F], error) {
	e, err := newEngine(s)
	if err != nil {
		return nil, err
	}
	length, _ := s.span()
	return &MelFeatures[F]{e: e, frame: make([]float64, length), level: make([]float64, s.Mels)}, nil
}

// Settings returns the settings passed to [NewMelFeatures].
func (f *MelFeatures[F]) Settings() MelSettings { return f.e.MelSettings }

// Compute writes the features of the signal x to dst [Mels, Frames(len(x))],
// band by band, and returns dst resliced to that size. It allocates if dst is
// too short, so nil works and reuse avoids allocation.
func (f *MelFeatures[F]) Compute(dst, x []F) []F {
	s := f.e.MelSettings
	frames := s.Frames(len(x))
	dst = room(dst, s.Mels*frames)
	peak := math.Inf(-1)
	running := s.Peak == "running"
	for t := range frames {
		f.fill(x, t)
		peak = f.e.frame(f.level, f.frame, peak)
		for m, v := range f.level {
			if running {
				v = f.e.finish(v, peak)
			}
			dst[m*frames+t] = F(v)
		}
	}
	if running {
		return dst
	}
	for i, v := range dst {
		dst[i] = F(f.e.finish(float64(v), peak))
	}
	return dst
}

// Power writes the power spectrum of every frame to dst [Bins, Frames(len(x))],
// bin by bin, and returns it like [MelFeatures.Compute].
func (f *MelFeatures[F]) Power(dst, x []F) []F {
	s := f.e.MelSettings
	frames := s.Frames(len(x))
	dst = room(dst, s.Bins()*frames)
	for t := range frames {
		f.fill(x, t)
		f.e.spectrum(f.frame)
		for k, v := range f.e.power {
			dst[k*frames+t] = F(v)
		}
	}
	return dst
}

func room[F MelFloat](dst []F, n int) []F {
	if cap(dst) < n {
		return make([]F, n)
	}
	return dst[:n]
}

// fill loads the samples of frame t, mirrored or zero beyond the ends.
func (f *MelFeatures[F]) fill(x []F, t int) {
	_, half := f.e.span()
	from := t*f.e.Hop - half
	if from >= 0 && from+len(f.frame) <= len(x) {
		for i, v := range x[from : from+len(f.frame)] {
			f.frame[i] = float64(v)
		}
		return
	}
	for i := range f.frame {
		f.frame[i] = 0
		if j, ok := f.e.source(from+i, len(x)); ok {
			f.frame[i] = float64(x[j])
		}
	}
}

// source returns the index in the signal of n samples for sample i of the
// padded signal, and false if that sample is zero.
func (s MelSettings) source(i, n int) (int, bool) {
	if i >= 0 && i < n {
		return i, true
	}
	if s.Pad != "reflect" {
		return 0, false
	}
	if n == 1 {
		return 0, true
	}
	period := 2 * (n - 1) // mirrored at both ends, repeatedly if needed
	i %= period
	if i < 0 {
		i += period
	}
	return min(i, period-i), true
}

// Cepstrum writes the first n coefficients of the orthonormal cosine transform
// (DCT-II) over the bands to dst [n, frames] and returns dst, which is allocated
// when too short: of log mel energies x [mels, frames] these are the MFCC.
func Cepstrum[F MelFloat](dst, x []F, n, mels int) []F {
	if mels < 1 || n < 1 {
		return dst[:0]
	}
	frames := len(x) / mels
	dst = room(dst, n*frames)
	basis := Cosines(n, mels)
	for k := range n {
		for t := range frames {
			sum := 0.0
			for m := range mels {
				sum += basis[k*mels+m] * float64(x[m*frames+t])
			}
			dst[k*frames+t] = F(sum)
		}
	}
	return dst
}

// Cosines returns the first n rows of the orthonormal DCT-II of the given
// length, [n, length].
func Cosines(n, length int) []float64 {
	c := make([]float64, n*length)
	for k := range n {
		scale := math.Sqrt(2 / float64(length))
		if k == 0 {
			scale = math.Sqrt(1 / float64(length))
		}
		for m := range length {
			// The argument is reduced in integers: a period is 4 length.
			c[k*length+m] = scale * math.Cos(math.Pi/float64(2*length)*float64(k*(2*m+1)%(4*length)))
		}
	}
	return c
}
