package flow

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/flow/media"
	"atenia/internal/golden"
)

// fileGraph is a plan that names its files: a loop under a sound, into two
// formats.
const fileGraph = `{"nodes":[
	{"name":"voice","type":"WavSource","params":{"file":"voice.wav"}},
	{"name":"bed","type":"FlacSource","params":{"file":"bed.flac","loop":"yes","offset_frames":1}},
	{"name":"mix","type":"Mix"},
	{"name":"wav","type":"WavSink","params":{"file":"out/mix.wav"}},
	{"name":"flac","type":"FlacSink","params":{"file":"out/mix.flac","bits":16}}],
	"edges":[{"source":"voice","target":"mix.in0"},{"source":"bed","target":"mix.in1"},{"source":"mix","target":"wav"},{"source":"mix","target":"flac"}]}`

// TestFileNodes: a plan that names its files runs by itself, from any folder, in
// time or not, and is as long as its longest file that ends.
func TestFileNodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, f media.Format, rows [][]float32) {
		if err := media.WriteFile(filepath.Join(dir, name), f, func(w *media.Writer) error { return media.Write(w, rows) }); err != nil {
			t.Fatal(err)
		}
	}
	voice := make([]float32, 100)
	want := [2][]float32{}
	bed := [2][]float32{{0, .25, .5}, {0, -.25, -.125}}
	for i := range voice {
		voice[i] = float32(i) / 256
		for c := range want {
			want[c] = append(want[c], voice[i]+bed[c][1+i%2])
		}
	}
	put("voice.wav", media.Format{Rate: 8000, Channels: 1}, [][]float32{voice})
	put("bed.flac", media.Format{Codec: media.FLAC, Rate: 8000, Channels: 2}, bed[:])
	path := filepath.Join(dir, "graph.json")
	if err := os.WriteFile(path, []byte(fileGraph), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"--block", "7"}, {"--realtime"}, {"--f64", "--block", "300"}} {
		must(t, append([]string{"run", path}, more...)...)
		for _, name := range []string{"mix.wav", "mix.flac"} {
			got, f, err := media.ReadFile[float32](filepath.Join(dir, "out", name))
			if err != nil || f.Rate != 8000 || len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
				t.Errorf("%v: %s: %v, %v: %v", more, name, f, err, got)
			}
		}
	}
	var r checked
	if err := json.Unmarshal([]byte(must(t, "check", path, "--json")), &r); err != nil || !r.OK || r.Nodes[1].Shapes[0] != [2]int{1, 2} {
		t.Errorf("%+v, %v", r, err)
	}
	if out := must(t, "draw", path); !strings.Contains(out, "FlacSink") {
		t.Error("no picture of the sink")
	}
	// Without the sound nothing is written, and the error names the node.
	if err := os.Remove(filepath.Join(dir, "bed.flac")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"run", "check"} {
		if _, err := call(t, command, path); err == nil || !strings.Contains(err.Error(), "$.nodes[1].params.file") {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := call(t, "run", path, "--rate", "44100"); err == nil || !strings.Contains(err.Error(), "Resample") {
		t.Error("another rate:", err)
	}
}

// What waits behind a gate that never opens, or seldom, is what it is without a clock: to
// the last frame, and to nobody's loss beside it.
func TestGatesInRealTime(t *testing.T) {
	t.Parallel() // it mostly waits
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	sound := make([]float32, 70_000) // more than channels have room for by themselves
	for i := range sound {
		sound[i] = float32(i%251-125) / 128
	}
	if err := media.WriteFile(at("in.wav"), media.Format{Rate: 192_000, Channels: 1}, func(w *media.Writer) error { return media.Write(w, [][]float32{sound}) }); err != nil {
		t.Fatal(err)
	}
	for _, graph := range []string{"host", "tempo"} {
		plan := filepath.Join(golden.Root(t), "flow", "testdata", graph+".json")
		run := func(to string, more ...string) (files [2][]byte) {
			must(t, append([]string{"run", plan, "--in", at("in.wav"), "--out", "a=" + at(to+"a.wav"), "--out", "b=" + at(to+"b.wav")}, more...)...)
			for i, name := range []string{"a", "b"} {
				var err error
				if files[i], err = os.ReadFile(at(to + name + ".wav")); err != nil {
					t.Fatal(err)
				}
			}
			return files
		}
		want, got := run("offline"), run("live", "--realtime")
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: output %d in real time differs", graph, i)
			}
		}
	}
}
