package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/golden/await"

	"golang.org/x/sys/unix"
)

// TestPipes: in the place of a file that must be a whole one, a pipe that nobody writes
// to is an error at once.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := func(names ...string) string {
		name := filepath.Join(append([]string{dir}, names...)...)
		os.Remove(name)
		if err := unix.Mkfifo(name, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	// folder returns a model's folder with a pipe in the place of one of its files.
	folder := func(name string) string {
		model := filepath.Join(dir, "model of "+strings.ReplaceAll(name, ".", " "))
		if err := os.CopyFS(model, os.DirFS(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3"))); err != nil {
			t.Fatal(err)
		}
		pipe(filepath.Base(model), name)
		return model
	}
	adapter := filepath.Join(dir, "adapter")
	if err := os.Mkdir(adapter, 0o777); err != nil {
		t.Fatal(err)
	}
	pipe("adapter", "adapter_config.json")
	for _, c := range []struct {
		name string
		args []string
	}{
		{"model", []string{"inspect", pipe("a.gguf")}},
		{"network", []string{"inspect", pipe("a.sxlm")}},
		{"vocabulary", []string{"tokenize", pipe("tokenizer.json"), "--text", "a"}},
		{"recipe", []string{"train", pipe("recipe.toml")}},
		{"plan", []string{"plan", "--diff", pipe("plan.json")}},
		{"placement", []string{"run", "--plan", pipe("placement.json"), "a"}},
		{"adapter", []string{"run", "--lora", adapter, "a"}},
		{"importance", []string{"quantize", "atenia-story", filepath.Join(dir, "out.gguf"), "--type", "q4_k_m", "--imatrix", pipe("imatrix.gguf")}},
		{"configuration", []string{"inspect", folder("config.json")}},
		{"companion", []string{"inspect", folder("generation_config.json")}},
		{"weights", []string{"inspect", folder("model.safetensors")}},
		{"tokenizer", []string{"tokenize", folder("tokenizer.json"), "--text", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(t, c.args...)
			var said bytes.Buffer
			p.Stderr = &said
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- p.Wait() }()
			err := await.Value(t, fmt.Sprintf("the end of %v, which may wait for a writer", c.args), ended)
			if err == nil || p.ProcessState.ExitCode() != 1 && p.ProcessState.ExitCode() != 2 || strings.Contains(said.String(), "goroutine") {
				t.Errorf("%v: %v\n%s", c.args, err, &said)
			}
			if s := said.String(); !strings.Contains(s, "pipe") && !strings.Contains(s, "regular file") {
				t.Errorf("%v says %q", c.args, s)
			}
		})
	}
}
