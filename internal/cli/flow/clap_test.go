package flow

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/flow/media"
)

// TestPlugins lists CLAP plug-ins, shows their delays, and runs them: the same
// bytes for every block, here and in a process, with a state that is saved and
// restored.
func TestPlugins(t *testing.T) {
	lib, dir := compiled(t, "tests.clap", filepath.Join("flow", "amp", "testdata", "plugins.c")), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var rows []typeRow
	if err := json.Unmarshal([]byte(must(t, "nodes", "--nodes", lib, "test.gain", "test.delay", "test.null", "--json")), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || !slices.Equal(rows[0].Params, []paramRow{{"gain_x", 1}}) || !strings.Contains(rows[0].Doc, "gain_x 0..4") || !strings.Contains(rows[1].Doc, "latency 100") || len(rows[2].Outs) != 0 {
		t.Errorf("%+v", rows)
	}
	if text := must(t, "nodes", "scan", "--nodes", lib); !strings.Contains(text, "test.null: it has no process") || !strings.Contains(text, "test.synth") {
		t.Error(text)
	}
	plan := write("fx.json", `{"nodes": [{"name": "in", "type": "Input"}, {"name": "late", "type": "test.delay", "pdc": "trim"}, {"name": "keep", "type": "test.state"}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "late"}, {"source": "late", "target": "keep"}, {"source": "keep", "target": "out"}]}`)
	if text := must(t, "check", plan, "--nodes", lib); !strings.Contains(text, "late by 163 frames, compensated") || !strings.Contains(text, `late by 63 frames: "pdc" compensates`) {
		t.Error(text)
	}
	x := make([]float32, 3000)
	for i := range x {
		x[i] = float32(math.Sin(float64(i) / 9))
	}
	in := filepath.Join(dir, "in.wav")
	err := media.WriteFile(in, media.Format{Codec: media.WAV, Rate: 48000, Channels: 1, Bits: 32, Float: true}, func(w *media.Writer) error { return media.Write(w, [][]float32{x}) })
	if err != nil {
		t.Fatal(err)
	}
	run := func(plan, name string, flags ...string) []float32 {
		path := filepath.Join(dir, name)
		must(t, append([]string{"run", plan, "--nodes", lib, "--in", in, "--out", path}, flags...)...)
		y, _, err := media.ReadFile[float32](path)
		if err != nil {
			t.Fatal(err)
		}
		return y[0]
	}
	state := filepath.Join(dir, "state")
	want := run(plan, "a.wav", "--block", "64", "--save-state", "keep="+state)
	for i, y := range want {
		if at := i - 63; at >= 0 && at < len(x)-163 && y != x[at]+3 {
			t.Fatalf("frame %d: %v, not %v", i, y, x[at]+3)
		}
	}
	for name, flags := range map[string][]string{"b.wav": {"--block", "480"}, "c.wav": {"--block", "64", "--trust", lib}, "d.wav": {"--block", "64", "--set", "keep.state_file=" + state}} {
		got := run(plan, name, flags...)
		if n := min(len(got), len(want)); n < 2800 || !slices.Equal(got[:n], want[:n]) {
			t.Errorf("%v: %d frames, or others", flags, len(got))
		}
	}
	write("state", "no state")
	if _, err := call(t, "run", plan, "--nodes", lib, "--in", in, "--out", filepath.Join(dir, "e.wav"), "--set", "keep.state_file="+state); err == nil || !strings.Contains(err.Error(), "rejects the saved state") {
		t.Error(err)
	}
}
