package media

// This file holds the derivative of features: from gradients of frames to
// gradients of samples.

import (
	"math"

	"atenia/internal/kernel/dsp"
)

// An MelAdjoint goes back over the steps of a [MelStream], last step first. A step is
// a number of samples pushed, with the frames that Next then gave, and perhaps
// the end of the signal. Gradients are exact: those of a level below the floor
// are zero, those of one raised to the clamp belong to the maximum, and so to the
// band and frame that set it.
//
//	state, x ─▶ frames again, first to last
//	dy       ─▶ levels ─▶ spectra ─▶ samples, frames last to first ─▶ dx
//	                                  └ of earlier samples: for earlier steps
//
// The sums do not depend on how the signal is cut into steps. [NewMelAdjoint] makes
// one.
type MelAdjoint[F MelFloat] struct {
	s      *MelStream[F] // computes the frames again
	owed   []float64     // gradients of the last samples before the end of the step
	most   int           // samples of a step
	peak   float64       // gradient of the running maximum
	levels []float64     // [frames, Mels] of a step
	before []float64     // [frames] the maximum before each of them
	wait   []float64     // [frames, Mels] gradients of levels that wait for the global maximum
	dLevel []float64     // [Mels]
	dFrame []float64     // of the samples of a frame
	re, im []float64     // [Bins]
}

// NewMelAdjoint returns the adjoint of a stream with those settings, for steps of
// at most the given number of samples.
func NewMelAdjoint[F MelFloat](set MelSettings, samples int) (*MelAdjoint[F], error) {
	s, err := NewMelStream[F](set)
	if err != nil {
		return nil, err
	}
	s.buf = append(s.buf, make([]float64, samples)...)
	frames := samples/set.Hop + set.latency() + 4
	return &MelAdjoint[F]{s: s, owed: make([]float64, len(s.buf)), most: samples, levels: make([]float64, frames*set.Mels), before: make([]float64, frames),
		dLevel: make([]float64, set.Mels), dFrame: make([]float64, len(s.frame)), re: make([]float64, set.Bins()), im: make([]float64, set.Bins())}, nil
}

// Reserve allocates what that many frames take while they wait for the global
// maximum, so that later calls do not.
func (a *MelAdjoint[F]) Reserve(frames int) {
	a.s.Reserve(frames)
	if n := frames * a.s.e.Mels; a.s.waits() && n > len(a.wait) {
		a.wait = append(a.wait, make([]float64, n-len(a.wait))...)
	}
}

// Reset forgets the gradients that later steps left for earlier samples.
func (a *MelAdjoint[F]) Reset() {
	clear(a.owed)
	clear(a.wait)
	a.peak = 0
}

// Backward goes back over a step. state is the stream's before it, as
// [MelStream.Save] wrote it; x holds the samples that were pushed; flushed says
// whether [MelStream.Flush] followed, in this step or before; dy holds the gradients
// of the frames that Next gave, [frames, Mels]. It writes the gradients of the
// samples to dx, as long as x.
func (a *MelAdjoint[F]) Backward(state []byte, dx, x []F, flushed bool, dy []float64) error {
	s := a.s
	if err := s.Load(state); err != nil {
		return err
	}
	if len(x) > a.most {
		return ErrMelState
	}
	s.Push(x)
	s.ended = s.ended || flushed
	if more := s.n - len(a.owed); more > 0 { // the steps of the stream were longer
		a.owed = append(make([]float64, more), a.owed...)
	}
	mels, first := s.e.Mels, s.next
	frames := len(dy) / mels // of the step
	if s.waits() {
		if s.noteAll(a); s.ended {
			a.Reserve(s.next)
			for t := s.given + frames - 1; t >= s.given; t-- {
				for m, v := range s.held[t*mels:][:mels] {
					a.wait[t*mels+m] = a.clamp(float64(v), s.peak, dy[(t-s.given)*mels+m])
				}
			}
		}
		a.Reserve(s.next)
		frames = s.next - first
	} else {
		for k := range frames {
			a.note(k)
		}
	}
	for k := frames - 1; k >= 0; k-- {
		level := a.levels[k*mels:][:mels]
		peak, top := a.before[k], 0
		for m, v := range level {
			if v > level[top] {
				top = m
			}
			peak = max(peak, v)
		}
		for m, v := range level {
			if s.waits() {
				a.dLevel[m], a.wait[(first+k)*mels+m] = a.wait[(first+k)*mels+m], 0
			} else {
				a.dLevel[m] = a.clamp(v, peak, dy[k*mels+m])
			}
		}
		if level[top] > a.before[k] { // this frame set the maximum
			a.dLevel[top] += a.peak
			a.peak = 0
		}
		a.frame(first + k)
	}
	keep := len(a.owed) - len(x)
	for i, v := range a.owed[keep:] {
		dx[i] = F(v)
	}
	copy(a.owed[len(x):], a.owed[:keep])
	clear(a.owed[:len(x)])
	return nil
}

// noteAll is wait for an adjoint, which notes the levels.
func (s *MelStream[F]) noteAll(a *MelAdjoint[F]) {
	for k := 0; s.ready(); k++ {
		a.note(k)
		for _, v := range s.level {
			s.held = append(s.held, F(v))
		}
	}
}

// note computes the next frame, the k-th of the step.
func (a *MelAdjoint[F]) note(k int) {
	a.before[k] = a.s.peak
	a.s.step()
	copy(a.levels[k*a.s.e.Mels:], a.s.level)
}

// clamp returns the gradient of a level for that of its feature. That of a level
// below the clamp is the maximum's.
func (a *MelAdjoint[F]) clamp(v, peak, dy float64) float64 {
	e := a.s.e
	if e.Log == "log10" {
		dy /= whisperScale
	}
	if e.Clamp > 0 && v < peak-e.Clamp {
		a.peak += dy
		return 0
	}
	return dy
}

// frame adds what the levels of frame t contribute to the gradients of its
// samples.
func (a *MelAdjoint[F]) frame(t int) {
	s, e := a.s, a.s.e
	s.fill(t)
	e.spectrum(s.frame)
	e.bandsAdjoint(a.re, a.im, a.dLevel)
	e.spectrumAdjoint(a.dFrame, a.re, a.im)
	_, half := e.span()
	base := len(a.owed) - s.total
	for i, d := range a.dFrame {
		if j, ok := e.source(t*e.Hop-half+i, s.total); ok {
			a.owed[base+j] += d
		}
	}
}

// bandsAdjoint returns in re, im the gradient of the spectrum that e.spectrum
// computed last, for gradients of the levels.
func (e *engine) bandsAdjoint(re, im, dLevel []float64) {
	clear(re)
	for m, b := range e.bands {
		power, sum := e.power[b.First:][:len(b.Weights)], 0.0
		for i, w := range b.Weights {
			sum += w * power[i]
		}
		d := dLevel[m] * e.levelSlope(sum)
		dsp.AddScaled(re[b.First:][:len(b.Weights)], b.Weights, d)
	}
	for k, d := range re {
		re[k], im[k] = 2*d*e.re[k], 2*d*e.im[k]
	}
}

// levelSlope returns the derivative of level.
func (e *engine) levelSlope(v float64) float64 {
	switch {
	case e.Log == "ln_add":
		return 1 / (v + e.Floor)
	case v <= e.Floor:
		return 0
	case e.Log == "log10":
		return 1 / (math.Ln10 * v)
	case e.Log == "db":
		return 10 / (math.Ln10 * v)
	}
	return 1 / v
}

// spectrumAdjoint is the transpose of the linear map from a frame's samples to
// its spectrum: mean, pre-emphasis, window, transform.
func (e *engine) spectrumAdjoint(dx, re, im []float64) {
	clear(dx)
	off := (len(dx) - e.Win) / 2
	e.real.ForwardAdjoint(e.x, re, im)
	in, out := e.x[min(off, e.FFT-e.Win):][:e.Win], dx[off:][:e.Win]
	sum := 0.0
	for i := len(in) - 1; i >= 0; i-- {
		d := in[i] * e.window[i]
		out[i] += d
		out[max(i-1, 0)] -= e.Emphasis * d
	}
	if e.RemoveDC {
		for _, d := range out {
			sum += d
		}
		for i := range out {
			out[i] -= sum / float64(e.Win)
		}
	}
}
