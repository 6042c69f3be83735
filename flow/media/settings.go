package media

// This file holds the constants of the features and the table of presets.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MelSettings are the constants of one kind of features. A word is "" where a
// field does not apply. The zero value of the other fields is not a useful
// default: start from a [MelPreset] and change single fields, in Go or with
// [MelSettings.With].
type MelSettings struct {
	SampleRate float64 `json:"sample_rate"` // Hz
	FFT        int     `json:"n_fft"`       // samples of the transform
	Win        int     `json:"win"`         // samples of the window, at most FFT
	Hop        int     `json:"hop"`         // samples from frame to frame
	Mels       int     `json:"n_mels"`      // bands
	Scale      string  `json:"scale"`       // htk, slaney, kaldi
	Norm       string  `json:"norm"`        // slaney: bands of equal area; "": of equal height
	Log        string  `json:"log"`         // log10, db, ln_add, ln
	Floor      float64 `json:"floor"`       // smallest energy, added for ln_add
	FMin       float64 `json:"f_min"`       // Hz, the lower end of the first band
	FMax       float64 `json:"f_max"`       // Hz, the upper end of the last band
	Pad        string  `json:"pad"`         // reflect, zero: FFT/2 samples at both ends; none
	DropLast   bool    `json:"drop_last"`   // one frame less than fits
	Clamp      float64 `json:"clamp"`       // levels are raised to this distance below the maximum; 0: no clamp
	Window     string  `json:"window"`      // hann (periodic), povey (symmetric hann to the .85)
	Emphasis   float64 `json:"preemphasis"` // x[n] - emphasis x[n-1], in each frame
	RemoveDC   bool    `json:"remove_dc"`   // subtract each frame's mean
	Peak       string  `json:"peak"`        // the maximum of Clamp: global, running; "": global, but running in a [MelStream]
}

var presets = []struct {
	name string
	MelSettings
}{
	{"whisper", MelSettings{SampleRate: 16000, FFT: 400, Win: 400, Hop: 160, Mels: 80, Scale: "slaney", Norm: "slaney",
		Log: "log10", Floor: 1e-10, FMax: 8000, Pad: "reflect", DropLast: true, Clamp: 8, Window: "hann"}},
	{"torchaudio", MelSettings{SampleRate: 16000, FFT: 400, Win: 400, Hop: 200, Mels: 128, Scale: "htk",
		Log: "ln_add", Floor: 1e-6, FMax: 8000, Pad: "reflect", Window: "hann"}},
	{"librosa", MelSettings{SampleRate: 22050, FFT: 2048, Win: 2048, Hop: 512, Mels: 128, Scale: "slaney", Norm: "slaney",
		Log: "db", Floor: 1e-10, FMax: 11025, Pad: "zero", Clamp: 80, Window: "hann"}},
	{"kaldi", MelSettings{SampleRate: 16000, FFT: 512, Win: 400, Hop: 160, Mels: 23, Scale: "kaldi",
		Log: "ln", Floor: 0x1p-23, FMin: 20, FMax: 8000, Pad: "none", Window: "povey", Emphasis: 0.97, RemoveDC: true}},
}

// MelPresets returns the names that [MelPreset] accepts.
func MelPresets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// MelPreset returns the settings of that name: whisper, torchaudio, librosa or
// kaldi.
func MelPreset(name string) (MelSettings, error) {
	for _, p := range presets {
		if p.name == name {
			return p.MelSettings, nil
		}
	}
	return MelSettings{}, &MelSettingError{"preset", fmt.Sprintf("%q is not one of %s", name, strings.Join(MelPresets(), ", "))}
}

// With returns the settings with some fields replaced by those of a JSON
// object, named as in the field tags above.
func (s MelSettings) With(overrides []byte) (MelSettings, error) {
	d := json.NewDecoder(strings.NewReader(string(overrides)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("mel settings: %w", err)
	}
	return s, nil
}

// Upper bounds of counts, which keep what settings can make a program allocate
// within reason.
const (
	maxFFT  = 1 << 20
	maxMels = 1 << 14
)

// A MelSettingError says which setting is invalid and why.
type MelSettingError struct{ Setting, Text string }

// Error implements error.
func (e *MelSettingError) Error() string { return "mel setting " + e.Setting + ": " + e.Text }

// Check reports every fault of the settings, each a [MelSettingError].
func (s MelSettings) Check() error {
	var faults []error
	want := func(ok bool, name, format string, v ...any) {
		if !ok {
			faults = append(faults, &MelSettingError{name, fmt.Sprintf(format, v...)})
		}
	}
	word := func(v, name string, among ...string) {
		want(slices.Contains(among, v), name, "%q is not one of %s", v, strings.Trim(strings.Join(among, ", "), ", "))
	}
	want(s.SampleRate > 0 && s.SampleRate < 1e12, "sample_rate", "%v Hz", s.SampleRate)
	want(s.FFT >= 2 && s.FFT <= maxFFT, "n_fft", "%d is not in 2..%d", s.FFT, maxFFT)
	want(s.Win >= 2 && s.Win <= s.FFT, "win", "%d is not in 2..n_fft = %d", s.Win, s.FFT)
	want(s.Hop >= 1 && s.Hop <= maxFFT, "hop", "%d is not in 1..%d", s.Hop, maxFFT)
	want(s.Mels >= 1 && s.Mels <= maxMels, "n_mels", "%d is not in 1..%d", s.Mels, maxMels)
	want(s.FMin >= 0 && s.FMin < s.FMax && s.FMax <= s.SampleRate, "f_max", "%v..%v Hz is not a band", s.FMin, s.FMax)
	want(s.Floor > 0 && s.Floor < 1e30, "floor", "%v is not positive", s.Floor)
	want(s.Clamp >= 0, "clamp", "%v is negative", s.Clamp)
	want(s.Emphasis >= -1 && s.Emphasis <= 1, "preemphasis", "%v is not in -1..1", s.Emphasis)
	word(s.Scale, "scale", "htk", "slaney", "kaldi")
	word(s.Norm, "norm", "slaney", "")
	word(s.Log, "log", "log10", "db", "ln_add", "ln")
	word(s.Pad, "pad", "reflect", "zero", "none")
	word(s.Window, "window", "hann", "povey")
	word(s.Peak, "peak", "global", "running", "")
	return errors.Join(faults...)
}

// Bins returns the number of bins in a frame's spectrum, n_fft/2 + 1.
func (s MelSettings) Bins() int { return s.FFT/2 + 1 }

// span returns the number of samples that a frame reads, and half, how many of
// them precede the first sample in frame 0.
func (s MelSettings) span() (length, half int) {
	if s.Pad == "none" {
		return s.Win, 0
	}
	return s.FFT, s.FFT / 2
}

// Frames returns the number of frames of n samples.
func (s MelSettings) Frames(n int) int {
	length, half := s.span()
	if n < 1 || n+2*half < length {
		return 0
	}
	t := 1 + (n+2*half-length)/s.Hop
	if s.DropLast {
		t--
	}
	return t
}
