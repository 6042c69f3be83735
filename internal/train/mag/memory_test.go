package mag

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/sample"
	"atenia/internal/store/faultfs"
	"atenia/internal/text/vocab"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/nested"
)

func config() nested.Config {
	return nested.Config{Vocab: 257, Width: 16, Heads: 2, Window: 8, Chunk: 6, Periods: []int{1, 2}, Residual: true, Norm: true, Seed: 3}.WithDefaults()
}

func newModel(t *testing.T, lanes int) *Model {
	t.Helper()
	m, err := New(config(), lanes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rows are texts of different lengths.
func rows() *data.Batch {
	b := &data.Batch{}
	for _, s := range []string{"the cat sat on the mat.", "a dog", "the dog saw the cat"} {
		for i := range len(s) - 1 {
			b.Tokens, b.Labels = append(b.Tokens, int32(s[i])), append(b.Labels, int32(s[i+1]))
		}
		b.Lens = append(b.Lens, len(s)-1)
	}
	b.Labels[2] = data.Ignored
	return b
}

// Gradients of a batch's shares add up to those of the whole batch, and a step
// against them lowers the loss as they predict.
func TestGradients(t *testing.T) {
	t.Parallel()
	// Frozen levels keep gradients of one batch for the next.
	every := config()
	every.Periods = []int{1}
	whole, err := New(every, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := New(every, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := rows()
	loss, err := whole.Backward(b, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{0.25, 0.75} {
		parts.builder.Conductor().Resume(0)
		if _, err := parts.Backward(b, share); err != nil {
			t.Fatal(err)
		}
	}
	var squares float64
	for i, p := range whole.Params() {
		for k, g := range p.Grad {
			squares += float64(g) * float64(g)
			if d := math.Abs(float64(g - parts.Params()[i].Grad[k])); d > 1e-4*(1+math.Abs(float64(g))) {
				t.Fatalf("%s[%d]: %v in parts, want %v", p.Name, k, parts.Params()[i].Grad[k], g)
			}
		}
	}
	before, err := whole.Loss(b)
	if err != nil || math.Abs(before-loss) > 0.1*loss {
		t.Errorf("the loss is %v without gradients and %v with: %v", before, loss, err)
	}
	const step = 1e-3
	for _, p := range whole.Params() {
		for k, g := range p.Grad {
			p.Value[k] -= step * g
		}
	}
	after, err := whole.Loss(b)
	if err != nil || math.Abs((before-after)/(step*squares)-1) > 0.3 {
		t.Errorf("the loss fell by %v, want nearly %v: %v", before-after, step*squares, err)
	}
}

type one struct{ b *data.Batch }

func (o one) Next(b *data.Batch) error { *b = *o.b; return nil }
func (o one) Cursor() string           { return "" }
func (o one) Seek(string) error        { return nil }

func learn(t *testing.T, m *Model, dir string, steps int, resume bool) *train.Result {
	t.Helper()
	cfg := train.Config{Rate: 0.01, Clip: 1, Steps: steps, Schedule: grad.Schedule{Curve: grad.Constant}, SnapshotEvery: 5, Dir: dir, Resume: resume, FS: faultfs.NoSync()}
	res, err := train.Run(t.Context(), cfg, m, one{rows()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A model learns, resumes to the same bits, and its folder reads and writes;
// the memory of a reader is saved and restored.
func TestFolder(t *testing.T) {
	t.Parallel()
	whole := newModel(t, 3)
	if res := learn(t, whole, t.TempDir(), 60, false); res.Loss > 2 {
		t.Errorf("after 60 steps the loss is %v", res.Loss)
	}
	dir := t.TempDir()
	learn(t, newModel(t, 3), dir, 23, false)
	m := newModel(t, 3)
	learn(t, m, dir, 60, true)
	for i, p := range m.Params() {
		if !slices.Equal(p.Value, whole.Params()[i].Value) {
			t.Fatalf("%s differs after a resumed run", p.Name)
		}
	}
	if all, trained := m.Size(); all != trained || all == 0 {
		t.Errorf("%d values, %d trained", all, trained)
	}

	if IsFolder(dir) {
		t.Error("a folder without config.json is a model")
	}
	if err := m.Export(dir); err != nil {
		t.Fatal(err)
	}
	v, err := vocab.Train(vocab.Config{Size: 257, Special: []string{"<|end|>"}}, func(yield func(string, error) bool) { yield("a", nil) })
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if !IsFolder(dir) {
		t.Error("the exported folder is not a nested model")
	}
	write := func(memory string, prompts ...string) (string, *Reading) {
		r, err := OpenReading(dir, memory, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, p := range prompts {
			if err := r.Continue(t.Context(), p, 9, sample.Params{}, func(s string) error { out.WriteString(s); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		return out.String(), r
	}
	want, _ := write("", "the cat ", "the dog ")
	first, r := write("", "the cat ")
	saved := filepath.Join(dir, "memory")
	if err := r.Save(saved); err != nil {
		t.Fatal(err)
	}
	second, _ := write(saved, "the dog ")
	if first+second != want {
		t.Errorf("with saved memory it writes %q, want %q", first+second, want)
	}
	if _, err := OpenReading(dir, filepath.Join(dir, "config.json"), nil); err == nil {
		t.Error("a file that is no memory is taken for one")
	}
	var state bytes.Buffer
	if err := m.Save(&state); err != nil || newModel(t, 2).Restore(&state) == nil {
		t.Errorf("another number of lanes is restored: %v", err)
	}
}
