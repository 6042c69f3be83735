package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestGPTQZeros: commands that open a model say that the version of zero points is a
// guess, take the user's word for it, and refuse that of a model without them.
func TestGPTQZeros(t *testing.T) {
	packed := filepath.Join(golden.Root(t), "internal", "model", "quant", "testdata")
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if err := os.WriteFile("d.jsonl", []byte(`{"text":"abc"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const told = "--gptq-zeros v2"
	for _, line := range []string{
		"run MODEL a --max-tokens 1", "logits MODEL --tokens 1", "eval MODEL --text d.jsonl --window 4", "bench MODEL -p 4 -n 1 -r 1", "quantize MODEL q.gguf --type f16",
		"finetune MODEL d.jsonl --steps 1 --row 8 --out o --overwrite", "plan MODEL", "doctor MODEL --probe none --ssd-rate 1GB --ram-rate 10GB --flops 10GB",
	} {
		call := func(model string, more ...string) (code int, text string) {
			var out, errs strings.Builder
			code = Main(append(strings.Fields(strings.Replace(line, "MODEL", model, 1)), more...), strings.NewReader(""), &out, &errs)
			return code, errs.String()
		}
		asked := []string{"--gptq-zeros", "v1"}
		if code, text := call(filepath.Join(packed, "awq"), asked...); code == 0 || !strings.Contains(text, "awq") || !strings.Contains(text, "--gptq-zeros") {
			t.Errorf("%s: of an AWQ folder: %d, %s", line, code, text)
		}
		if code, text := call(filepath.Join(packed, "gptq4_asym"), asked...); code != 0 || strings.Contains(text, told) {
			t.Errorf("%s: asked for v1: %d, %s", line, code, text)
		}
		opens := !slices.Contains([]string{"plan", "doctor"}, strings.Fields(line)[0]) // weights are not read
		if code, text := call(filepath.Join(packed, "gptq4_asym")); code != 0 || (strings.Count(text, told) == 1) != opens {
			t.Errorf("%s: not asked: %d, %s", line, code, text)
		}
		if code, _ := call(filepath.Join(packed, "gptq4_asym"), "--gptq-zeros", "v3"); code != command.BadUsage {
			t.Errorf("%s: version 3: code %d", line, code)
		}
	}
}
