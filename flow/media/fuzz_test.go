package media

import (
	"math"
	"testing"
)

// FuzzSettings: settings from outside either have a named fault or make
// features that are numbers.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{`{}`, `{"n_mels": 3, "pad": "none", "hop": 1}`, `{"n_fft": 2, "win": 2, "f_max": 1e-9}`,
		`{"scale": "kaldi", "window": "povey", "win": 2}`, `{"sample_rate": 1e11, "clamp": 0, "norm": ""}`, `{"preemphasis": 1, "log": "ln"}`} {
		f.Add([]byte(s), uint8(1), []byte("state"))
	}
	f.Fuzz(func(t *testing.T, text []byte, preset uint8, state []byte) {
		s, err := MelPreset(MelPresets()[int(preset)%len(presets)])
		if err != nil {
			t.Fatal(err)
		}
		if s, err = s.With(text); err != nil || s.Check() != nil || s.FFT > 1024 || s.Hop > 4096 || s.Mels > 256 {
			return
		}
		x := noise[float32](1, 900)
		c, err := NewMelFeatures[float32](s)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range c.Compute(nil, x) {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("feature %d is %v with %+v", i, v, s)
			}
		}
		st, err := NewMelStream[float32](s)
		if err != nil {
			t.Fatal(err)
		}
		if len(state) > 0 { // repeated to the size that is asked for
			whole := make([]byte, st.StateBytes())
			for i := range whole {
				whole[i] = state[i%len(state)]
			}
			if st.Load(whole) != nil {
				st.Reset()
			}
		}
		st.Push(x)
		st.Flush()
		for dst := make([]float32, s.Mels); st.Next(dst); {
			if s.Frames(1<<20) == 0 {
				t.Fatal("frames of a signal that has none")
			}
		}
	})
}
