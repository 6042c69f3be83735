package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"atenia/flow/media"
)

// ends are graphs of nodes that hold frames back, or take several at once, with the frames that 10007 become.
var ends = []struct {
	name, nodes, edges string
	block              int // all sizes are multiples
	frames             int64
}{
	{"resampled", `{"name": "a", "type": "AsyncResample", "params": {"ratio": 0.7}}`, `{"source": "in", "target": "a"}, {"source": "a", "target": "out"}`, 1, 7005},
	{"groups", `{"name": "a", "type": "AsyncResample", "params": {"ratio": 2.5, "most": 3}}`, `{"source": "in", "target": "a"}, {"source": "a", "target": "out"}`, 1, 25020},
	{"levels", `{"name": "g", "type": "OnePole"}, {"name": "a", "type": "LogMel", "params": {"preset": "librosa", "sample_rate": 48000, "n_fft": 256, "win": 256, "hop": 128, "n_mels": 13, "f_max": 8000, "peak": "running"}}`,
		`{"source": "in", "target": "g"}, {"source": "g", "target": "a"}, {"source": "a", "target": "out"}`, 128, 79},
	{"cepstrum", `{"name": "g", "type": "OnePole"}, {"name": "a", "type": "MFCC", "params": {"preset": "torchaudio", "sample_rate": 48000, "n_fft": 256, "win": 256, "hop": 100, "n_mels": 13, "n_mfcc": 5, "f_max": 8000}}`,
		`{"source": "in", "target": "g"}, {"source": "g", "target": "a"}, {"source": "a", "target": "out"}`, 100, 101},
	{"peak", `{"name": "n", "type": "Biquad", "params": {"kind": "peaking", "f0": 1500, "q": 1.3, "gain_db": 4}, "supports_v2": true}`, `{"source": "in", "target": "n"}, {"source": "n", "target": "out"}`, 1, 10007},
	{"echo", `{"name": "n", "type": "Delay", "params": {"delay": 7, "max_delay": 20}, "declared_delay": 7, "pdc": "trim"}, {"name": "m", "type": "Mix"}`,
		`{"source": "in", "target": "n"}, {"source": "n", "target": "m.in0", "delay_frames": 30}, {"source": "in", "target": "m.in1"}, {"source": "m", "target": "out", "delay_frames": 50, "delay_kind": "prefill"}`, 1, 10050},
	{"tone", `{"name": "tone", "type": "Oscillator", "params": {"frequency_hz": 700}}, {"name": "m", "type": "Mix"}, {"name": "d", "type": "Downsample", "params": {"factor": 2}}`,
		`{"source": "in", "target": "m.in0"}, {"source": "tone", "target": "m.in1", "capacity_frames": 200}, {"source": "m", "target": "d"}, {"source": "d", "target": "out"}`, 2, 5003},
}

// TestEndOfStream: what run and play write of a file that fills no whole number of blocks, and the loss and the
// derivatives of grad, are the same bytes for every size of them, by Block and in real time.
func TestEndOfStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	r := rand.New(rand.NewPCG(34, 2))
	x := make([]float32, 10007)
	for i := range x {
		x[i] = float32(r.IntN(1<<16)-1<<15) / (1 << 16)
	}
	if err := media.WriteFile(at("x.wav"), media.Format{Rate: 48000, Channels: 1}, func(w *media.Writer) error { return media.Write(w, [][]float32{x}) }); err != nil {
		t.Fatal(err)
	}
	for _, g := range ends {
		t.Run(g.name, func(t *testing.T) {
			path := at(g.name + ".json")
			plan := fmt.Sprintf(`{"nodes": [{"name": "in", "type": "Input"}, %s, {"name": "out", "type": "Probe"}], "edges": [%s]}`, g.nodes, g.edges)
			if err := os.WriteFile(path, []byte(plan), 0o666); err != nil {
				t.Fatal(err)
			}
			var run, took, value []byte
			same := func(how string, want *[]byte, got []byte) {
				if *want == nil {
					*want = got
				}
				if !bytes.Equal(got, *want) {
					t.Errorf("%s: other bytes", how)
				}
			}
			read := func(name string) []byte {
				b, err := os.ReadFile(at(name))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			for i, k := range []int{1, 3, 7, 64, 10007, 20000} {
				block := fmt.Sprint((k*64 + g.block - 1) / g.block * g.block)
				if k > 64 { // no multiple of 64
					block = fmt.Sprint((k + g.block - 1) / g.block * g.block)
				}
				more := [][]string{nil, {"--realtime", "--limit", "1m"}}[i%2]
				var out ran
				text := must(t, append([]string{"run", path, "--in", at("x.wav"), "--out", at(g.name + ".npy"), "--block", block}, append(more, "--json")...)...)
				if err := json.Unmarshal([]byte(text), &out); err != nil || out.Outputs[0].Frames != g.frames {
					t.Errorf("blocks of %s: %+v frames, want %d (%v)", block, out.Outputs, g.frames, err)
				}
				same("run in blocks of "+block, &run, read(g.name+".npy"))
				if g.frames > 5000 {
					must(t, "play", path, "--in", "file:free="+at("x.wav"), "--out", "null:free", "--block", block, "--record", at(g.name+".wav"))
					same("play in blocks of "+block, &took, read(g.name+".wav"))
				}
				var d struct {
					Value  float64
					Params json.RawMessage `json:"parameters"`
					Inputs json.RawMessage
				}
				if err := json.Unmarshal([]byte(must(t, "grad", path, "--in", at("x.wav"), "--block", block, "--checkpoint", fmt.Sprint(-i%2), "--json")), &d); err != nil {
					t.Fatal(err)
				}
				same("grad in blocks of "+block, &value, fmt.Appendf(nil, "%v %s %s", d.Value, d.Params, d.Inputs))
			}
		})
	}
}
