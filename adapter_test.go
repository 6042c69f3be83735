package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/model/lora"
	"atenia/train"
)

// TestAdapter opens a model with an adapter, as it is and as a merged folder:
// the same logits, which are not those of the model alone. Nothing of it is
// left when it is closed.
func TestAdapter(t *testing.T) {
	base := filepath.Join(golden.Family(t, "train"), "llama_untied")
	t.Setenv("TMPDIR", t.TempDir())
	logits := func(path string, c atenia.Config) []float32 {
		t.Helper()
		c.Pack = "memory"
		m, err := atenia.Open(context.Background(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.Logits(context.Background(), []int32{5, 9, 2, 7}, atenia.LogitsOptions{})
		if err := errors.Join(err, m.Close()); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(x...)
	}
	adapter := filepath.Join(base, "lora")
	plain, with := logits(base, atenia.Config{}), logits(base, atenia.Config{Adapter: adapter})
	if slices.Equal(plain, with) {
		t.Error("the adapter changes nothing")
	}
	d, err := file.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, err := lora.Open(adapter)
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if err := a.Merge(nil, d, merged); err != nil {
		t.Fatal(err)
	}
	if got := logits(merged, atenia.Config{}); !slices.Equal(got, with) {
		t.Error("a merged folder and a model that is merged as it is opened differ")
	}
	gguf := filepath.Join(t.TempDir(), "merged.gguf")
	mix, err := atenia.ParseMix("f32")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atenia.Quantize(context.Background(), base, gguf, atenia.QuantizeOptions{Mix: mix, Adapter: adapter}); err != nil {
		t.Fatal(err)
	}
	got := logits(gguf, atenia.Config{})
	for i := range got {
		if d := got[i] - with[i]; d > 1e-4 || d < -1e-4 {
			t.Fatalf("as GGUF, logit %d is %v, want %v", i, got[i], with[i])
		}
	}
	if _, err := atenia.Open(context.Background(), gguf, &atenia.Config{Adapter: adapter}); !errors.Is(err, lora.ErrBase) {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestFinetune trains low-rank pairs of a tiny llama on 200 lines until it
// knows them, and runs the result: merged into a folder, and with the adapter.
func TestFinetune(t *testing.T) {
	base := filepath.Join(golden.Family(t, "parity"), "llama3")
	dir := t.TempDir()
	lines, known := "", map[string]bool{}
	for i := range 200 {
		line := fmt.Sprintf("%s has a %s by the %s.",
			[]string{"Ada", "Ben", "Cora", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon"}[i%10],
			[]string{"lamp", "boat", "kite", "drum", "bell", "coin", "map", "rope", "leaf", "shell"}[(i*7+i/10)%10],
			[]string{"hill", "lake"}[i/100])
		lines += fmt.Sprintf("{\"text\":%q}\n", line)
		known[line] = true
	}
	data := filepath.Join(dir, "facts.jsonl")
	if err := os.WriteFile(data, []byte(lines), 0o666); err != nil || len(known) != 200 {
		t.Fatal(len(known), err)
	}
	r := &train.Recipe{}
	r.Model.From, r.Data.Files, r.Data.Row, r.Data.Rows = base, []string{data}, 64, 8
	r.LoRA.Rank, r.LoRA.Alpha, r.LoRA.Merge = 16, 32, true
	r.Optimizer.Rate, r.Schedule.Floor, r.Train.Steps, r.Train.Out = 1e-2, 0.05, 80, filepath.Join(dir, "out")
	if err := r.Complete(); err != nil {
		t.Fatal(err)
	}
	rep, err := train.Run(context.Background(), r, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A line is one of 200, and some 28 tokens: no model gets below 0.15 or so.
	if first := rep.Metrics[0].Loss; first < 5 || rep.Loss > 0.25 {
		t.Errorf("the loss went from %v to %v", first, rep.Loss)
	}
	answers := map[string]int{}
	for path, c := range map[string]atenia.Config{rep.Merged: {}, base: {Adapter: rep.Out}} {
		m, err := atenia.Open(context.Background(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		answer := "Ida has a"
		for tok, err := range m.Generate(context.Background(), atenia.Prompt{Text: answer, Options: atenia.Options{MaxTokens: 40}}) {
			if err != nil {
				t.Fatal(err)
			}
			if answer += tok.Text; strings.Contains(answer, ".") {
				break
			}
		}
		answers[answer]++
		if !known[answer] {
			t.Errorf("%s says %q, which is none of the lines", path, answer)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(answers) != 1 {
		t.Errorf("merged and adapted models say %v", answers)
	}
}
