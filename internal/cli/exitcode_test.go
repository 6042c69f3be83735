package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"

	"github.com/spf13/cobra"
)

// TestFaults: one kind of fault has one exit code in all commands.
func TestFaults(t *testing.T) {
	gguf := filepath.Join(golden.Root(t), "testdata", "golden", "gguf", "models", "llama-f16.gguf")
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // no run is on record
	b, err := os.ReadFile(gguf)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"m.gguf": string(b), "cut.gguf": string(b[:len(b)/2]), "bad.json": `{"nodes":[{"name":"a"`, "bad.jsonl": "{}\n", "c.toml": "[modle]\n",
		"cache/tensor/t.bin": "abc", "cache/tensor/t.meta": "not", "plan.json": `{"nodes":[{"name":"x","type":"Nothing"}],"edges":[]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []struct {
		name  string
		code  int
		lines []string
	}{
		{"a value that cannot be", command.BadUsage, []string{
			"run Once --temp -1", "run Once --threads -1", "run Once --kv-type q4", "run Once --pack always", "run Once --budget ram=0", "run Once --budget ram=1MiB",
			"run Once --samplers x", "run Once --logit-bias x", "run Once --logit-bias 999999=1", "chat --kv-type q4",
			"plan --pin x", "plan --pin nothing=ram", "plan --pin (=ram", "plan --require gpu", "plan --require cpu", "plan --ram 1", "plan --ram x", "plan --max-tier disk",
			"plan --mode x", "plan --backend x", "plan --ram 1GiB --why (", "plan --ram 1GiB --why nothing", "plan --ram 1GiB --mode decode",
			"logits", "logits --tokens x", "logits --tokens 999999", "logits --tokens 1 --step 9",
			"tokenize", "tokenizer train m.gguf --pattern x", "quantize m.gguf out.gguf --type x",
			"bench -p -1", "bench -r 0", "bench --rounds 2", "bench kernels --rounds 0", "bench kernels --only (", "bench kernels --format x",
			"bench mem -r 0", "bench ssd -r 0", "bench codec -r 0", "bench train-offload --layers 0", "bench stream m.gguf --ratio 0",
			"hw --probe x", "replay bad.jsonl --policy x", "cache gc cache --quota x", "checkpoint save d --ram x", "checkpoint verify d --gpu x",
			"flow check plan.json --block -1", "flow run plan.json --rate -1", "flow bench --only x", "flow check plan.json --text --schedule", "flow nodes Nothing",
			"train c.toml", "train c.toml --resume --overwrite", "finetune m.gguf bad.jsonl --full --merge", "finetune m.gguf bad.jsonl --lora x=1",
		}},
		{"a file that is not there", command.Failure, []string{
			"run no.gguf Once", "chat no.gguf", "plan no.gguf", "plan --diff no.gguf", "inspect no.gguf", "logits no.gguf --tokens 1", "tokenize no.gguf --text a", "tokenize --file no.json",
			"tokenizer train no.txt", "quantize no.gguf out.gguf", "bench no.gguf", "bench --compare no.json", "bench table no.gguf", "bench stream no.gguf", "bench codec no.safetensors",
			"bench mem --compare no.json", "bench kernels --compare no.json", "replay no.jsonl", "cache ls no", "cache verify no", "cache gc no", "checkpoint inspect no",
			"flow check no.json", "flow run no.json --in a.wav", "flow draw no.json", "flow grad no.json", "train no.toml", "finetune no bad.jsonl", "run m.gguf Once --plan no.json",
		}},
		{"a file that is damaged", command.Failure, []string{
			"run cut.gguf Once", "chat cut.gguf", "plan cut.gguf", "inspect cut.gguf", "logits cut.gguf --tokens 1", "tokenize cut.gguf --text a", "quantize cut.gguf out.gguf", "bench cut.gguf", "bench --compare bad.json",
		}},
		{"a check that fails", command.BadResult, []string{"replay bad.jsonl", "cache verify cache", "flow check plan.json", "flow check bad.json"}},
		{"a mistake in the call of explain", command.Failure, []string{"explain", "explain --nonsense", "explain x", "explain --vram-band 9"}},
	} {
		for _, line := range kind.lines {
			var out, errw bytes.Buffer
			if code := Main(strings.Split(line, " "), strings.NewReader(""), &out, &errw); code != kind.code {
				t.Errorf("%s, %q: exit %d, want %d: %s", kind.name, line, code, kind.code, errw.String())
			}
		}
	}
}

// TestModelFaults: a fault in a model's own files is exit code 1, whatever the command,
// and its message names the file, and no file twice.
func TestModelFaults(t *testing.T) {
	good := filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3")
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct{ file, text, commands string }{
		{"generation_config.json", `{"temperature": -1}`, "run,logits,tokenize,chat,bench"},
		{"generation_config.json", `{"top_p": 7}`, "run,logits,tokenize,chat,bench"},
		{"generation_config.json", `{"eos_token_id": "x"}`, "run,logits,tokenize,chat,bench"},
		{"generation_config.json", `{`, "run,logits,plan,inspect,tokenize,chat,bench"},
		{"config.json", `{"model_type": "llama", "hidden_size": -1}`, "run,logits,plan,chat,quantize,bench"},
		{"config.json", `{"model_type": "llama", "hidden_size": 64, "rms_norm_eps": -1}`, "run,logits,plan,chat,quantize,bench"},
		{"tokenizer.json", `{`, "run,logits,tokenize,chat,quantize,bench"},
		{"tokenizer_config.json", `{`, "run,logits,tokenize,chat,quantize,bench"},
		{"model.safetensors", `abc`, "run,logits,tokenize,plan,inspect,chat,quantize,bench"},
		{"model.safetensors.index.json", `{`, "run,logits,tokenize,plan,inspect,chat,quantize,bench"},
	} {
		if err := os.CopyFS("model", os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.file, "index.json") {
			if err := os.Remove("model/model.safetensors"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join("model", c.file), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(c.commands, ",") {
			line := map[string]string{"run": "run model Once", "logits": "logits model --tokens 1", "tokenize": "tokenize model --text a", "quantize": "quantize model out.gguf"}[name]
			if line == "" {
				line = name + " model"
			}
			var out, errw bytes.Buffer
			code := Main(strings.Split(line, " "), strings.NewReader(""), &out, &errw)
			first, _, _ := strings.Cut(errw.String(), "\n")
			if code != command.Failure || !strings.Contains(first, c.file) || strings.Count(first, c.file) > 1 || strings.Contains(first, "model: model") {
				t.Errorf("%s with %s: exit %d: %s", line, c.file, code, errw.String())
			}
		}
		if err := os.RemoveAll("model"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCallFaults gives every command a flag and arguments that it does not have.
func TestCallFaults(t *testing.T) {
	each((&app{}).root(), func(c *cobra.Command) {
		if !c.Runnable() || c.Name() == "explain" {
			return
		}
		path := strings.Fields(c.CommandPath())[1:]
		for _, more := range []string{"--no-such-flag", "-?", strings.Repeat("x ", 9)} {
			args := append(path, strings.Fields(more)...)
			if c.Args(c, args[len(path):]) == nil && more[0] == 'x' {
				continue // it takes any number
			}
			var errw bytes.Buffer
			if code := Main(args, strings.NewReader(""), &bytes.Buffer{}, &errw); code != command.BadUsage {
				t.Errorf("%q: exit %d, %s", args, code, errw.String())
			}
		}
	})
}

// TestLongStrings: a file of texts larger than what is read is an error that says so.
func TestLongStrings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.json")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 257<<20); err != nil { // sparse
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	code := Main([]string{"tokenize", "--file", path}, strings.NewReader(""), &out, &errw)
	if code != command.Failure || !strings.Contains(errw.String(), path) || !strings.Contains(errw.String(), "256.0 MiB") {
		t.Errorf("exit %d: %s", code, errw.String())
	}
}

// TestNegativeTokens: fewer tokens than none are no wish for all of them.
func TestNegativeTokens(t *testing.T) {
	for _, args := range [][]string{{"run", "atenia-story", "x", "-n", "-5"}, {"chat", "atenia-story", "-n", "-1"}} {
		var errw bytes.Buffer
		if code := Main(args, strings.NewReader("x\n"), &bytes.Buffer{}, &errw); code != command.BadUsage || !strings.Contains(errw.String(), "--max-tokens is -") || !strings.Contains(errw.String(), "want 0 or more") {
			t.Errorf("%q: exit %d, %s", args, code, errw.String())
		}
	}
}
