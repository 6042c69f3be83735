package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/live"
)

// TestSynth makes the files and plays them: each note has its pitch from the frame that the file says, in any blocks.
func TestSynth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeSynth(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "synth.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f, err := live.ReadMIDI(filepath.Join(dir, "song.mid"))
	if err != nil {
		t.Fatal(err)
	}
	sweep, err := flow.ParseControl(strings.NewReader(sweep))
	if err != nil {
		t.Fatal(err)
	}
	const rate = 48000
	frames := int(f.Length(rate))
	if want := (14*600 + 6*900) * rate / 1000; frames != want {
		t.Errorf("the song has %d frames, want %d", frames, want)
	}
	var first []float32
	for _, block := range []int{64, 1000} {
		s, err := flow.New[float32](p, flow.Options{SampleRate: rate, BlockFrames: block, Automate: []string{"tone.f0"}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Post(f.Cues(rate, "keys")...); err != nil {
			t.Fatal(err)
		}
		if err := s.Play(sweep); err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(nil, (frames+block-1)/block)
		if err != nil {
			t.Fatal(err)
		}
		y := out["out"].Data[:frames]
		if first == nil {
			first = y
		}
		if !slices.Equal(first, y) {
			t.Errorf("blocks of %d frames change the sound", block)
		}
	}
	var peak float32
	for _, v := range first {
		peak = max(peak, v, -v)
	}
	// The first note is alone for half a quarter, 14400 frames: its period is that of C3.
	period := rate / (440 * math.Pow(2, float64(48-69)/12))
	best, at := 0.0, 0
	for lag := 200; lag < 600; lag++ {
		sum := 0.0
		for i := 4000; i < 10000; i++ {
			sum += float64(first[i]) * float64(first[i+lag])
		}
		if sum > best {
			best, at = sum, lag
		}
	}
	if peak < 0.1 || peak > 2 || math.Abs(float64(at)-period) > 1 {
		t.Errorf("peak %g, a period of %d frames, want %.1f", peak, at, period)
	}
}
