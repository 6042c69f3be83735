package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/flow/view"
)

var update = flag.Bool("update", false, "rewrite effects.svg")

// TestEffects makes the files, runs the plan and examines the sound.
func TestEffects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeEffects(dir); err != nil {
		t.Fatal(err)
	}
	x, f, err := media.ReadFile[float32](filepath.Join(dir, "dry.wav"))
	if err != nil || f.Rate != rate || len(x) != 1 {
		t.Fatal(f, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "effects.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float32](p, flow.Options{SampleRate: rate})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(map[string]node.Tensor[float32]{"in": {Data: x[0], B: 1, C: 1, N: len(x[0])}}, 6*rate/64)
	if err != nil {
		t.Fatal(err)
	}
	y := out["out"]
	if y.C != 2 || y.N < 6*rate {
		t.Fatalf("%d channels of %d frames", y.C, y.N)
	}
	// The strings end after four seconds; the echo continues.
	for c := range 2 {
		var tail, peak float32
		for i, v := range y.Row(c) {
			peak = max(peak, v, -v)
			if i > 4*rate+rate/4 {
				tail = max(tail, v, -v)
			}
		}
		if peak < 0.2 || peak > 4 || tail < 1e-4 || tail > peak/2 {
			t.Errorf("channel %d: peak %g, %g after the end", c, peak, tail)
		}
	}
	svg := view.SVG(s.Linked(), view.SVGOptions{Title: "effects.json", SampleRate: rate})
	if *update {
		if err := os.WriteFile("effects.svg", svg, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile("effects.svg"); err != nil || !bytes.Equal(old, svg) {
		t.Errorf("effects.svg is not the plan's drawing (%v): rerun with -update and look at it", err)
	}
}
