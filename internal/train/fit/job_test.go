package fit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/train"
	"atenia/internal/train/recipe"
)

const lines = "{\"text\":\"the cat sat on the mat\"}\n{\"text\":\"the dog sat on the log\"}\n{\"text\":\"the cat saw the dog\"}\n"

func chats() string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "{\"messages\":[{\"role\":\"user\",\"content\":\"say %d\"},{\"role\":\"assistant\",\"content\":\"it is %d\"}]}\n", i, i)
	}
	return b.String()
}

// do runs a recipe in dir.
func do(t *testing.T, dir, config string, o Options) (*Report, error) {
	t.Helper()
	return doUntil(t.Context(), t, dir, config, o)
}

func doUntil(ctx context.Context, t *testing.T, dir, config string, o Options) (*Report, error) {
	t.Helper()
	for name, s := range map[string]string{"text.jsonl": lines, "chat.jsonl": chats(), "config.toml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := recipe.Read(filepath.Join(dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return Run(ctx, r, o)
}

func weights(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "out", "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const tiny = "[model]\nhidden = 16\nlayers = 1\nheads = 2\n"

// Every kind of tokenizer, precision and rule makes a folder with all its
// files, and a loss that falls.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"bytes":   "[data]\nfiles = ['text.jsonl']\n[train]\n",
		"chars":   "[tokenizer]\nkind = 'chars'\n[data]\nfiles = ['text.jsonl']\n[train]\n",
		"bpe":     "[tokenizer]\nkind = 'bpe'\nsize = 270\n[data]\nfiles = ['text.jsonl']\n[train]\naccumulate = 2\n",
		"chat":    "[tokenizer]\nspecial = ['<|end|>', '<|im_start|>', '<|im_end|>']\ntemplate = 'chatml'\n[data]\nfiles = ['chat.jsonl']\n[train]\n",
		"muon":    "[optimizer]\nkind = 'muon'\n[data]\nfiles = ['text.jsonl']\n[train]\nrecompute = true\n",
		"bf16":    "[data]\nfiles = ['text.jsonl']\n[train]\nprecision = 'bf16'\n",
		"offload": "[optimizer]\noffload = true\n[data]\nfiles = ['text.jsonl']\n[train]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var s Subject
			rep, err := do(t, dir, tiny+config+"steps = 25\n", Options{Started: func(x Subject) { s = x }})
			if err != nil {
				t.Fatal(err)
			}
			if first := rep.Metrics[0].Loss; rep.Loss > 0.95*first || len(rep.Metrics) != 25 {
				t.Errorf("the loss went from %v to %v in %d steps", first, rep.Loss, len(rep.Metrics))
			}
			if s.Parameters == 0 || s.Documents == 0 || s.Vocabulary == 0 {
				t.Errorf("%+v", s)
			}
			files := []string{"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "metrics.jsonl", "loss.png"}
			if name == "chat" {
				files = append(files, "chat_template.jinja")
			}
			for _, f := range files {
				if fi, err := os.Stat(filepath.Join(dir, "out", f)); err != nil || fi.Size() == 0 {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
}

// A model's folder can be fine-tuned, with its parameters, tokenizer and files.
func TestFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := do(t, dir, tiny+"[data]\nfiles = ['text.jsonl']\n[train]\nsteps = 30\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "out"), filepath.Join(dir, "base")); err != nil {
		t.Fatal(err)
	}
	again, err := do(t, dir, "[model]\nfrom = 'base'\n[data]\nfiles = ['text.jsonl']\n[optimizer]\nrate = 1e-5\n[train]\nsteps = 2\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Metrics[0].Loss; got > 1.05*first.Loss || got < 0.8*first.Loss {
		t.Errorf("it begins at %v, the first run ended at %v", got, first.Loss)
	}
	for _, name := range []string{"config.json", "tokenizer.json"} {
		a, _ := os.ReadFile(filepath.Join(dir, "base", name))
		b, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
}

// Results do not depend on the number of threads, but on the seed.
func TestThreads(t *testing.T) {
	t.Parallel()
	const config = tiny + "[data]\nfiles = ['text.jsonl']\n[train]\nsteps = 8\n"
	run := func(more string) string {
		dir := t.TempDir()
		if _, err := do(t, dir, config+more, Options{}); err != nil {
			t.Fatal(err)
		}
		return weights(t, dir)
	}
	one := run("threads = 1\n")
	if run("threads = 3\n") != one {
		t.Error("threads change the model")
	}
	if run("seed = 1\n") == one {
		t.Error("a seed changes nothing")
	}
}

// A run that is stopped while its model is written keeps it: a resumed one writes it.
func TestStoppedAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "[optimizer]\noffload = true\n", "[lora]\nrank = 2\n"} {
		dir := t.TempDir()
		config := tiny + more
		if strings.Contains(more, "lora") {
			if _, err := do(t, dir, tiny+"[data]\nfiles = ['text.jsonl']\n[train]\nsteps = 1\nout = 'base'\n", Options{}); err != nil {
				t.Fatal(err)
			}
			config = "[model]\nfrom = 'base'\n" + more
		}
		config += "[data]\nfiles = ['text.jsonl']\n[train]\nsteps = 3\n"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		// Nothing looks at the context between the last step and the end but what writes.
		_, err := doUntil(ctx, t, dir, config, Options{Watch: func(e train.Event) {
			if e.Step == e.Steps {
				cancel()
			}
		}})
		if !errors.Is(err, train.ErrStopped) || !strings.Contains(err.Error(), "--resume, which writes it") {
			t.Errorf("%s: %v", more, err)
		}
		models := func() []string {
			names, _ := filepath.Glob(filepath.Join(dir, "out", "*.safetensors*"))
			return names
		}
		if names := models(); len(names) > 0 {
			t.Errorf("%s: %v was written", more, names)
		}
		if _, err := do(t, dir, config, Options{Resume: true}); err != nil || len(models()) != 1 {
			t.Errorf("%s: %v, with %v", more, err, models())
		}
	}
}

// TestFromFile checks that a model's file is rejected before any output is made.
func TestFromFile(t *testing.T) {
	dir := t.TempDir()
	_, err := do(t, dir, "[model]\nfrom = 'text.jsonl'\n[data]\nfiles = ['text.jsonl']\n[train]\nsteps = 1\nout = 'new'\n", Options{})
	if !errors.Is(err, recipe.ErrRecipe) || !strings.Contains(err.Error(), "text.jsonl is a file") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the folder of results is there")
	}
}
