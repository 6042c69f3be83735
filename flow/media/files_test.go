package media_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/flow/media"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// sound writes frames 1, 2, … in 1/64 of full scale, channel c adding 10 c.
func sound(t *testing.T, path string, f media.Format, frames int) {
	t.Helper()
	rows := make([][]float64, f.Channels)
	for c := range rows {
		for i := range frames {
			rows[c] = append(rows[c], float64(i+1+10*c)/64)
		}
	}
	if err := media.WriteFile(path, f, func(w *media.Writer) error { return media.Write(w, rows) }); err != nil {
		t.Fatal(err)
	}
}

// folder holds some sounds.
func folder(t *testing.T) string {
	dir := t.TempDir()
	sound(t, filepath.Join(dir, "mono.wav"), media.Format{Rate: 8000, Channels: 1}, 5)
	sound(t, filepath.Join(dir, "stereo.flac"), media.Format{Codec: media.FLAC, Rate: 8000, Channels: 2}, 3)
	sound(t, filepath.Join(dir, "slow.wav"), media.Format{Rate: 4000, Channels: 1}, 5)
	sound(t, filepath.Join(dir, "none.wav"), media.Format{Rate: 8000, Channels: 1}, 0)
	return dir
}

// plan returns a plan without edges; nodes are given as name, type, params.
func plan(t *testing.T, nodes ...string) *graph.Plan {
	t.Helper()
	var list []string
	for i, n := range nodes {
		typ, params, _ := strings.Cut(n, " ")
		list = append(list, fmt.Sprintf(`{"name": "n%d", "type": %q, "params": {%s}}`, i, typ, params))
	}
	p, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [%s], "edges": []}`, strings.Join(list, ",")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFeed: frames do not depend on the block size, begin after offset_frames,
// and repeat if the source loops.
func TestFeed(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, c := range []struct {
		node  string
		want  []float64 // of channel 0, in 64ths
		keeps int       // frames that keep the stream going
	}{
		{`WavSource "file": "mono.wav"`, []float64{1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0}, 5},
		{`WavSource "file": "mono.wav", "offset_frames": 2`, []float64{3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 3},
		{`WavSource "file": "mono.wav", "offset_frames": 3, "loop": "yes"`, []float64{4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5}, 0},
		{`WavSource "file": "mono.wav", "offset_frames": 99, "loop": "yes"`, make([]float64, 12), 0},
		{`WavSource "file": "none.wav", "loop": "yes"`, make([]float64, 12), 0},
		{`FlacSource "file": "stereo.flac", "loop": "yes"`, []float64{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, 0},
		{`FlacSource "file": "stereo.flac", "batches": 2, "channels": 1`, []float64{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 3},
	} {
		for _, block := range []int{1, 3, 4, 12} {
			all, err := media.OpenFiles(plan(t, c.node), dir, 0)
			if err != nil {
				t.Fatal(c.node, err)
			}
			s := all.Sources[0]
			x := node.Tensor[float64]{B: 1, C: s.Reader().Channels, N: block}
			x.Data = make([]float64, x.C*block)
			var got []float64
			keeps := 0
			for len(got) < 12 {
				n, err := media.Feed(s, x)
				if err != nil {
					t.Fatal(c.node, err)
				}
				keeps += n
				for i, v := range x.Row(0) {
					got = append(got, v*64)
					if x.C == 2 && v != 0 && x.Row(1)[i] != v+10./64 {
						t.Errorf("%s: channel 1 is %g beside %g", c.node, x.Row(1)[i], v)
					}
				}
			}
			if !slices.Equal(got, c.want) || keeps != c.keeps || !s.Ended && keeps < 12 {
				t.Errorf("%s in blocks of %d: %v, %d frames, ended %v", c.node, block, got, keeps, s.Ended)
			}
			if err := all.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFaults: errors have the position in the plan.
func TestFaults(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, c := range []struct {
		nodes []string
		path  string
		text  string
	}{
		{[]string{`WavSource `}, "$.nodes[0].params.file", "name of a file"},
		{[]string{`WavSink "file": 3`}, "$.nodes[0].params.file", "text wanted"},
		{[]string{`WavSource "file": "gone.wav"`}, "$.nodes[0].params.file", "no such file"},
		{[]string{`WavSource "file": "stereo.flac"`}, "$.nodes[0].params.file", "is flac, and not wav"},
		{[]string{`FlacSource "file": "stereo.flac", "channels": 1`}, "$.nodes[0].params.file", "2 channels"},
		{[]string{`WavSource "file": "mono.wav", "loop": "maybe"`}, "$.nodes[0].params.loop", "one of no, yes"},
		{[]string{`WavSource "file": "mono.wav"`, `WavSource "file": "slow.wav"`}, "$.nodes[1].params.file", "Resample"},
		{[]string{`WavSink "file": "a.wav"`, `FlacSink "file": "./a.wav"`}, "$.nodes[1].params.file", "written by node n0"},
		{[]string{`ConvolutionReverb "file": "gone.wav"`}, "$.nodes[0].params.file", "no such file"},
		{[]string{`ConvolutionReverb "file": "none.wav"`}, "$.nodes[0].params.file", "no frames"},
		{[]string{`ConvolutionReverb "file": "mono.wav", "taps": 1`}, "$.nodes[0].params.file", "either a file or taps"},
		{[]string{`ConvolutionReverb "file": "slow.wav"`, `WavSource "file": "mono.wav"`}, "$.nodes[0].params.file", "8000"},
	} {
		_, err := media.OpenFiles(plan(t, c.nodes...), dir, 0)
		e, ok := errors.AsType[*graph.Error](err)
		if !ok || e.Path != c.path || !strings.Contains(e.Text, c.text) && !(c.text == "no such file" && strings.Contains(e.Text, "gone.wav")) {
			t.Errorf("%s: %v", c.nodes, err)
		}
	}
	all, err := media.OpenFiles(plan(t, `WavSource "file": "mono.wav"`, `WavSource "file": "slow.wav", "rate_den": 2`), dir, 0)
	if err != nil || all.Rate != 8000 {
		t.Fatal("half the rate: ", err)
	}
	all.Close()
	if _, err := os.Stat(filepath.Join(dir, "a.wav")); err == nil {
		t.Error("a sink was touched")
	}
}

// TestResponse: an impulse response in a file becomes the taps of its node, by channel, and its rate the base rate if
// no source has one.
func TestResponse(t *testing.T) {
	t.Parallel()
	p := plan(t, `ConvolutionReverb "file": "stereo.flac"`)
	all, err := media.OpenFiles(p, folder(t), 0)
	if err != nil || all.Rate != 8000 {
		t.Fatal(all, err)
	}
	defer all.Close()
	taps := p.Nodes[0].Param("taps").Value
	if want := []float64{1, 2, 3, 11, 12, 13}; taps.C != 2 || taps.F != 3 || !slices.EqualFunc(taps.Data, want, func(a, b float64) bool { return a == b/64 }) {
		t.Errorf("%+v, want %v in 64ths", taps, want)
	}
	if _, err := flow.ShippedTypes().Describe(&p.Nodes[0]); err != nil {
		t.Error(err)
	}
}

// TestFormat: how sinks are written.
func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sink, want string }{
		{`WavSink "file": "a"`, "wav, 24000 Hz, 2 channels, 32 bit float"},
		{`WavSink "file": "a", "bits": 24`, "wav, 24000 Hz, 2 channels, 24 bit"},
		{`WavSink "file": "a", "bits": 64`, "wav, 24000 Hz, 2 channels, 64 bit float"},
		{`WavSink "file": "a", "samples": "integer"`, "wav, 24000 Hz, 2 channels, 16 bit"},
		{`WavSink "file": "a", "bits": 32, "samples": "float"`, "wav, 24000 Hz, 2 channels, 32 bit float"},
		{`FlacSink "file": "a"`, "flac, 24000 Hz, 2 channels, 24 bit"},
		{`FlacSink "file": "a", "bits": 16`, "flac, 24000 Hz, 2 channels, 16 bit"},
		{`FlacSink "file": "a", "bits": 32`, "integers of 32 bits"},
		{`WavSink "file": "a", "bits": 24, "samples": "float"`, "24-bit floating point"},
	} {
		p := plan(t, `Constant "channels": 2`, `Downsample `, c.sink)
		p.Edges = []graph.Edge{{Source: "n0", Target: "n1", Scale: 1, Channel: -1}, {Source: "n1", Target: "n2", Scale: 1, Channel: -1}}
		all, err := media.OpenFiles(p, ".", 48000)
		if err != nil {
			t.Fatal(err)
		}
		l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := all.Sinks[0].Format(l, all.Rate)
		got := f.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: %s", c.sink, got)
		}
	}
}
