package media

import (
	"atenia/internal/golden/await"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func noise[F MelFloat](seed uint64, n int) []F {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]F, n)
	for i := range x {
		x[i] = F(0.3*math.Sin(float64(i)*0.1) + 0.05*r.NormFloat64())
	}
	return x
}

func preset(t testing.TB, name string) MelSettings {
	t.Helper()
	s, err := MelPreset(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStream: a stream, however it is cut and even when it is saved and loaded
// between samples, gives the bits of the whole signal.
func TestMelStream(t *testing.T) {
	t.Parallel()
	changes := []func(*MelSettings){
		func(*MelSettings) {},
		func(s *MelSettings) { s.Hop = s.FFT/2 + 7 },
		func(s *MelSettings) { s.Hop, s.Win, s.Pad = 2*s.FFT, s.Win/2, "zero" },
		func(s *MelSettings) { s.FFT, s.Win, s.Pad, s.DropLast = 401, 333, "reflect", false },
		func(s *MelSettings) { s.Hop, s.Pad = 37, "none" },
		func(s *MelSettings) { s.DropLast, s.Hop = true, 3*s.FFT/2 },
	}
	for _, name := range MelPresets() {
		for i, change := range changes {
			for _, n := range []int{1, 100, 201, 400, 1000, 5003} {
				s := preset(t, name)
				s.Peak = []string{"running", "global"}[n%2]
				s.Mels = 20
				change(&s)
				checkStream(t, fmt.Sprintf("%s, change %d, %d samples", name, i, n), s, n)
			}
		}
	}
}

func checkStream(t *testing.T, what string, s MelSettings, n int) {
	t.Helper()
	x := noise[float32](uint64(n), n)
	f, err := NewMelFeatures[float32](s)
	if err != nil {
		t.Fatal(what, err)
	}
	want := f.Compute(nil, x)
	st, err := NewMelStream[float32](s)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, uint64(n)))
	row := make([]float32, s.Mels)
	got := 0
	take := func() {
		for st.Next(row) {
			for m, v := range row {
				if w := want[m*s.Frames(n)+got]; math.Float32bits(v) != math.Float32bits(w) {
					t.Fatalf("%s: frame %d band %d is %v, want %v", what, got, m, v, w)
				}
			}
			got++
		}
	}
	for at := 0; at < n; {
		k := min(1+r.IntN(s.Hop), n-at)
		st.Push(x[at : at+k])
		at += k
		take()
		if !s.waits() && at >= s.Hop*(st.Latency()+1) && got < at/s.Hop-st.Latency() {
			t.Fatalf("%s: %d frames after %d samples, latency %d", what, got, at, st.Latency())
		}
		if r.IntN(4) == 0 {
			st = reload(t, st, s)
		}
	}
	st.Flush()
	take()
	if got != s.Frames(n) {
		t.Fatalf("%s: %d frames, want %d", what, got, s.Frames(n))
	}
}

func reload(t *testing.T, st *MelStream[float32], s MelSettings) *MelStream[float32] {
	t.Helper()
	b := make([]byte, st.StateBytes())
	if st.Save(b) != len(b) || st.Save(b[1:]) != 0 {
		t.Fatal("a state of another size than announced")
	}
	next, err := NewMelStream[float32](s)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Load(b); err != nil {
		t.Fatal(err)
	}
	if err := next.Load(b[1:]); !errors.Is(err, ErrMelState) {
		t.Fatalf("a shortened state: %v", err)
	}
	for i := range b {
		b[i] = 255
	}
	if err := next.Load(b); !errors.Is(err, ErrMelState) {
		t.Fatalf("a senseless state: %v", err)
	}
	return next
}

func TestStreamAllocates(t *testing.T) {
	s := preset(t, "whisper")
	st, err := NewMelStream[float32](s)
	if err != nil {
		t.Fatal(err)
	}
	x, row := noise[float32](1, s.Hop), make([]float32, s.Mels)
	if a := await.Allocs(50, func() {
		st.Push(x)
		st.Next(row)
	}); a != 0 {
		t.Errorf("%v allocations a hop", a)
	}
}

// TestMatrix: bands of height one meet half way, and a tone's energy lands in
// its band.
func TestMatrix(t *testing.T) {
	t.Parallel()
	s := preset(t, "torchaudio")
	s.Mels = 12
	bands, err := MelMatrix(s)
	if err != nil {
		t.Fatal(err)
	}
	sum := make([]float64, s.Bins())
	for _, b := range bands {
		for i, w := range b.Weights {
			sum[b.First+i] += w
		}
	}
	for k := bands[0].First + len(bands[0].Weights); k < bands[11].First; k++ {
		if math.Abs(sum[k]-1) > 1e-12 {
			t.Errorf("the weights of bin %d sum to %v", k, sum[k])
		}
	}
	for name, hz := range map[string]float64{"htk": 1000, "slaney": 1000, "kaldi": 1000} {
		if d := scales[name].back(scales[name].to(hz)) - hz; math.Abs(d) > 1e-9 {
			t.Errorf("%s: there and back is off by %v Hz", name, d)
		}
	}
	if m := scales["htk"].to(1000); math.Abs(m-999.9855) > 1e-3 {
		t.Errorf("1 kHz is %v mel", m)
	}
}

func TestPower(t *testing.T) {
	t.Parallel()
	s := MelSettings{SampleRate: 64, FFT: 64, Win: 64, Hop: 64, Mels: 4, Scale: "htk", Log: "ln", Floor: 1e-9, FMax: 32, Pad: "none", Window: "hann"}
	f, err := NewMelFeatures[float64](s)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 128)
	for i := range x {
		x[i] = math.Cos(2 * math.Pi * 8 * float64(i) / 64)
	}
	p := f.Power(nil, x)
	// A cosine under the Hann window: 64/4 in its bin, half of that beside it.
	for bin, want := range map[int]float64{8: 256, 7: 64, 9: 64, 4: 0, 20: 0} {
		if got := p[bin*2+1]; math.Abs(got-want) > 1e-9 {
			t.Errorf("power of bin %d: %v, want %v", bin, got, want)
		}
	}
}

func TestCepstrum(t *testing.T) {
	t.Parallel()
	const mels = 7
	c := Cosines(mels, mels)
	for i := range mels {
		for j := range mels {
			sum, want := 0.0, 0.0
			for m := range mels {
				sum += c[i*mels+m] * c[j*mels+m]
			}
			if i == j {
				want = 1
			}
			if math.Abs(sum-want) > 1e-14 {
				t.Errorf("rows %d and %d: %v", i, j, sum)
			}
		}
	}
	x := noise[float64](1, mels*3)
	y := Cepstrum(nil, x, 2, mels)
	sum := 0.0
	for m := range mels {
		sum += x[m*3+2]
	}
	if want := sum / math.Sqrt(mels); len(y) != 6 || math.Abs(y[2]-want) > 1e-14 {
		t.Errorf("coefficient 0 of frame 2 is %v, want %v", y[2], want)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, name := range MelPresets() {
		if err := preset(t, name).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MelPreset("wisper"); err == nil {
		t.Error("an unknown preset is accepted")
	}
	s, err := preset(t, "whisper").With([]byte(`{"n_mels": 128, "norm": null}`))
	if err != nil || s.Mels != 128 || s.Norm != "slaney" {
		t.Errorf("overrides: %+v, %v", s, err)
	}
	if _, err := s.With([]byte(`{"nmels": 1}`)); err == nil {
		t.Error("an unknown setting is accepted")
	}
	err = MelSettings{Win: -1, Scale: "bark"}.Check()
	if e, ok := errors.AsType[*MelSettingError](err); !ok || e.Setting != "sample_rate" {
		t.Errorf("the zero settings: %v", err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) < 8 {
		t.Errorf("not all faults are told: %v", err)
	}
	if _, err := NewMelFeatures[float32](MelSettings{}); err == nil {
		t.Error("features of nothing")
	}
}

// TestTypes: features of float32 samples differ by the rounding of the samples
// only.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, name := range MelPresets() {
		s := preset(t, name)
		x := noise[float32](9, 9000)
		wide := make([]float64, len(x))
		for i, v := range x {
			wide[i] = float64(v)
		}
		f, err := NewMelFeatures[float32](s)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewMelFeatures[float64](f.Settings())
		if err != nil {
			t.Fatal(err)
		}
		a, b := f.Compute(nil, x), g.Compute(nil, wide)
		if !slices.EqualFunc(a, b, func(v float32, w float64) bool { return math.Abs(float64(v)-w) <= 0x1p-22*max(1, math.Abs(w)) }) {
			t.Errorf("%s: float32 and float64 differ by more than roundings of the result", name)
		}
	}
}

func Example() {
	s, _ := MelPreset("whisper")
	f, err := NewMelFeatures[float32](s)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float32, 16000) // one second of a 440 Hz tone
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 440 * float64(i) / 16000))
	}
	y := f.Compute(nil, x)
	frames := s.Frames(len(x))
	loudest := 0
	for m := range s.Mels {
		if y[m*frames+50] > y[loudest*frames+50] {
			loudest = m
		}
	}
	fmt.Println(s.Mels, "bands,", frames, "frames, loudest band", loudest)
	// Output: 80 bands, 100 frames, loudest band 11
}

// Benchmark computes the features of one second.
func Benchmark(b *testing.B) {
	for _, name := range MelPresets() {
		b.Run("logmel/"+name, func(b *testing.B) {
			s := preset(b, name)
			f, err := NewMelFeatures[float32](s)
			if err != nil {
				b.Fatal(err)
			}
			x := noise[float32](1, int(s.SampleRate))
			dst := f.Compute(nil, x)
			for b.Loop() {
				dst = f.Compute(dst, x)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "x-real-time")
		})
	}
}
