package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow/media"
)

// TestGlide: the loudest band of the glide climbs. Kaldi's emphasis lifts the
// overtones, so there it is enough that there are features.
func TestGlide(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"whisper", "torchaudio", "librosa", "kaldi"} {
		f, err := features(demonstration(), demonstrationRate, preset)
		if err != nil {
			t.Fatal(preset, err)
		}
		last := 0
		for _, at := range []int{f.N / 4, f.N / 2, f.N * 3 / 4} {
			loudest := 0
			for m := range f.C {
				if f.Row(m)[at] > f.Row(loudest)[at] {
					loudest = m
				}
			}
			if loudest < last && preset != "kaldi" {
				t.Errorf("%s: the loudest band falls from %d to %d", preset, last, loudest)
			}
			last = loudest
		}
		if last == 0 {
			t.Errorf("%s: the loudest band stays the lowest", preset)
		}
	}
}

// TestFile: a sound file becomes a map and a picture.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sound, picture := filepath.Join(dir, "glide.wav"), filepath.Join(dir, "glide.png")
	format := media.Format{Rate: demonstrationRate, Channels: 2}
	err := media.WriteFile(sound, format, func(w *media.Writer) error {
		x := demonstration()
		return media.Write(w, [][]float32{x, x})
	})
	if err != nil {
		t.Fatal(err)
	}
	var fromFile, own bytes.Buffer
	if err := showMel(&fromFile, "whisper", picture, sound); err != nil {
		t.Fatal(err)
	}
	if err := showMel(&own, "whisper", "", ""); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(own.String(), "\n")
	got := strings.Split(fromFile.String(), "\n")
	if len(got) != lines+2 || got[lines] != want[lines] {
		t.Errorf("of the file:\n%s\nof the sound:\n%s", fromFile.String(), own.String())
	}
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dy() != 80 {
		t.Errorf("the picture: %v", err)
	}
	if err := showMel(&own, "wisper", "", ""); err == nil {
		t.Error("an unknown preset")
	}
}
