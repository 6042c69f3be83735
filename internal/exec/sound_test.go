package exec_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
)

// soundCase is the model that hears of [TestSoundBatch].
const soundCase = "parity/whisper"

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

// encodeAll returns the rows of random sounds, from one tower after another sound.
func encodeAll(t *testing.T, m *model, threads int, seeds ...uint64) (out [][]float32) {
	t.Helper()
	a := m.Config.Audio
	tower, err := exec.NewTower(&m.Plans, m.weights, exec.Config{Threads: threads, MaxTokens: 2 * a.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	for _, seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 2))
		features := make([]float32, 2*a.Rows*a.Mels)
		for i := range features {
			features[i] = 2*rng.Float32() - 1
		}
		rows, err := tower.EncodeSound(features)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, slices.Clone(rows))
	}
	return out
}

// TestSoundBatch: the rows of a sound depend neither on the sound before nor on
// threads, and texts of several sounds in one batch have the bytes that each has
// alone, in chunks of any size.
func TestSoundBatch(t *testing.T) {
	m := openCase(t, soundCase, compile.Options{})
	sounds := encodeAll(t, m, 1, 1, 2)
	again := encodeAll(t, m, 3, 2, 1)
	sameRows(t, "encoder", [][]float32{again[1], again[0]}, sounds)
	if slices.Equal(sounds[0], sounds[1]) {
		t.Fatal("two sounds have the same rows")
	}
	const steps = 4
	sources := [][]float32{sounds[0], sounds[1], sounds[0], sounds[1]}
	begin := func(l *lane, i, n int) *sequence {
		q := l.sequence(n)
		q.source = sources[i]
		return q
	}
	var prompts [][]int32
	var want [][][]float32
	cfg := small
	cfg.Context = m.Config.Context // its positions are learned
	for i, n := range []int{19, 1, 7, 30} {
		prompts = append(prompts, randomTokens(uint64(i/2), n+steps, m.Config.Vocab))
		l := m.lane(t, cfg)
		want = append(want, l.feed(begin(l, i, n+steps), prompts[i], n, 1))
		for _, chunks := range [][]int{{1}, {n + steps}, {5}, {3, 11, 1}} {
			cfg := cfg
			cfg.Threads = 3
			l := m.lane(t, cfg)
			sameRows(t, "chunks", l.feed(begin(l, i, n+steps), prompts[i], chunks...), want[i])
		}
	}
	cfg.Threads = 2
	l := m.lane(t, cfg)
	var feeds []feed
	for i, p := range prompts {
		feeds = append(feeds, feed{begin(l, i, len(p)), p[:len(p)-steps]})
	}
	done := make([]int, len(prompts))
	for step := range steps + 1 {
		rows := l.run(&exec.Step{}, feeds...)
		for i := range feeds {
			n := len(feeds[i].tokens)
			sameRows(t, "batch", rows[:n], want[i][done[i]:done[i]+n])
			rows, done[i] = rows[n:], done[i]+n
			if step < steps {
				feeds[i].tokens = prompts[i][done[i] : done[i]+1]
			}
		}
	}
	l = m.lane(t, cfg)
	q := l.sequence(8)
	q.source = sounds[1]
	if other := l.feed(q, prompts[0][:8], 8); slices.Equal(other[7], want[0][7]) {
		t.Error("what is heard does not matter")
	}
}
