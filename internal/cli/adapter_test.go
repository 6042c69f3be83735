package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestAdapterEdited: an adapter whose configuration was formatted again is the same
// adapter, and one with another scale is taken, too: run and quantize say what was
// changed.
func TestAdapterEdited(t *testing.T) {
	base, texts := filepath.Join(golden.Family(t, "parity"), "llama3"), filepath.Join(filepath.Dir(prepare(t)), "text.txt")
	tuned := filepath.Join(t.TempDir(), "tuned")
	call := func(args ...string) (string, string) {
		t.Helper()
		var out, errw bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errw); code != command.OK {
			t.Fatalf("%v: exit %d, %s", args, code, &errw)
		}
		return out.String(), errw.String()
	}
	call("finetune", base, texts, "--row", "8", "--steps", "2", "--lora", "r=2,alpha=2", "--rate", "0.1", "--out", tuned)
	run := func() (string, string) {
		return call("run", base, "--lora", tuned, "the cat", "-n", "8", "--ignore-eos", "--temp", "0")
	}
	want, said := run()
	if strings.Contains(said, "edited") {
		t.Error(said)
	}
	config := filepath.Join(tuned, "adapter_config.json")
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(b []byte) {
		if err := os.WriteFile(config, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(bytes.ReplaceAll(b, []byte("\n"), nil))
	if got, said := run(); got != want || strings.Contains(said, "edited") {
		t.Errorf("formatted again: %q, want %q; %s", got, want, said)
	}
	edit(bytes.Replace(b, []byte(`"lora_alpha": 2`), []byte(`"lora_alpha": 90`), 1))
	const line = `was edited: "lora_alpha" is 90 and was 2`
	if got, said := run(); got == want || !strings.Contains(said, line) {
		t.Errorf("another scale: %q, %s", got, said)
	}
	if _, said := call("quantize", base, filepath.Join(t.TempDir(), "q.gguf"), "--lora", tuned, "--type", "q8_0"); !strings.Contains(said, line) {
		t.Errorf("quantize: %s", said)
	}
}
