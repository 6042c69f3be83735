package speech_test

import (
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/sched"
	"atenia/internal/speech"
)

// open returns the tiny model of the golden cases with its encoder, and a
// vocabulary laid over its tokens.
func open(t *testing.T) (*speech.Model, *speech.Runner, []float32) {
	t.Helper()
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "whisper"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := exec.New(&m.Plans, exec.Weights(w), exec.Config{Threads: 2, MaxTokens: 64, MaxLogits: 8, Context: m.Config.Context})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sched.New(x, sched.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	frames := 2 * m.Config.Audio.Rows
	tower, err := exec.NewTower(&m.Plans, exec.Weights(w), exec.Config{Threads: 2, MaxTokens: frames})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tower.Close)
	r, err := speech.NewRunner(s, tower, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	mels := m.Config.Audio.Mels
	features := make([]float32, 9*frames*mels)
	for i := range features {
		features[i] = float32((i*i*7919)%211)/105 - 1
	}
	return &speech.Model{
		Mels: mels, Frames: frames, Context: m.Config.Context,
		Tokens: speech.Tokens{Start: 3, Languages: map[string]int32{"en": 281, "de": 282}, Transcribe: 283, Translate: 284, Previous: 285, NoSpeech: 286, NoTimes: 287, End: 280, Time: 288},
		Text:   func(ids []int32) string { return string(make([]byte, len(ids))) },
	}, r, features
}

var cold = []float64{0}

// TestBeams: searches find the same each time, although their lines share states,
// and timestamps never go back.
func TestBeams(t *testing.T) {
	m, r, features := open(t)
	run := func(o speech.Options) *speech.Result {
		t.Helper()
		o.Temperatures, o.Language, o.MeanLog = cold, "en", -100
		res, err := m.Transcribe(t.Context(), r, features, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	greedy := run(speech.Options{Alone: true})
	again := run(speech.Options{Alone: true})
	if len(greedy.Segments) == 0 || !equal(greedy, again) {
		t.Fatalf("%d segments, and another time %d", len(greedy.Segments), len(again.Segments))
	}
	wide := run(speech.Options{Alone: true, Beam: 5})
	if len(wide.Segments) == 0 || !equal(wide, run(speech.Options{Alone: true, Beam: 5})) {
		t.Errorf("five beams find %d segments, and another time others", len(wide.Segments))
	}
	for _, g := range append(greedy.Segments, wide.Segments...) {
		last := int32(0)
		for _, id := range g.Tokens {
			if id >= 288 {
				if id < last {
					t.Errorf("timestamps go back: %v", g.Tokens)
				}
				last = id
			}
		}
		if g.End < g.Start {
			t.Errorf("a segment from %v to %v", g.Start, g.End)
		}
	}
}

func equal(a, b *speech.Result) bool {
	return slices.EqualFunc(a.Segments, b.Segments, func(x, y speech.Segment) bool {
		return slices.Equal(x.Tokens, y.Tokens) && x.Start == y.Start && x.End == y.End
	})
}

// TestWarm decodes at temperatures, with the same seed the same, and finds a
// language.
func TestWarm(t *testing.T) {
	m, r, features := open(t)
	run := func(seed uint64) *speech.Result {
		t.Helper()
		res, err := m.Transcribe(t.Context(), r, features, speech.Options{Temperatures: []float64{0, .9}, MeanLog: -.001, NoSpeech: 2, Seed: seed, Best: 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	a, b, c := run(1), run(1), run(2)
	if a.Language != "en" && a.Language != "de" {
		t.Errorf("the language is %q", a.Language)
	}
	if !equal(a, b) || equal(a, c) {
		t.Errorf("equal seeds: %t, other seeds: %t", equal(a, b), equal(a, c))
	}
}
