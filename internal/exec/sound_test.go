package exec_test

import (
	"path/filepath"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
)

// paritySound compares the rows of an audio encoder, and the logits of its decoder
// after several prefixes.
func paritySound(t *testing.T, m *model, folder string, f *fixture) {
	in := golden.NPY(t, filepath.Join(folder, f.Inputs["input_features"])) // [1, mels, frames]
	mels, frames := in.Shape[1], in.Shape[2]
	features := make([]float32, mels*frames)
	for b := range mels {
		for i := range frames {
			features[i*mels+b] = in.F32[b*frames+i]
		}
	}
	tower, err := exec.NewTower(&m.Plans, m.weights, exec.Config{Threads: 2, MaxTokens: frames})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	rows, err := tower.EncodeSound(features)
	if err != nil {
		t.Fatal(err)
	}
	source := append([]float32(nil), rows...)
	for i, s := range f.Sequences {
		if s.Encoder != "" {
			want := golden.NPY(t, filepath.Join(folder, s.Encoder))
			if len(want.F32) != len(source) {
				t.Fatalf("the encoder has %d values, want %d", len(source), len(want.F32))
			}
			for k, v := range source {
				if d := v - want.F32[k]; !(max(d, -d) <= float32(f.Tolerance.MaxAbs)) {
					t.Fatalf("value %d of the encoder: got %g, want %g", k, v, want.F32[k])
				}
			}
		}
		want := golden.NPY(t, filepath.Join(folder, s.Logits))
		for _, n := range []int{s.Prompt, 1, len(s.Tokens), 1 + i} {
			l := m.lane(t, exec.Config{Threads: 2, MaxLogits: 64, Context: m.Config.Context})
			q := l.sequence(len(s.Tokens))
			q.source = source
			if err := compare(l.feed(q, s.Tokens, n, 1), want, f.Tolerance.MaxAbs); err != nil {
				t.Errorf("%s, prefill of %d: %v", s.Name, n, err)
			}
		}
	}
}
