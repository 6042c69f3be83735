package cli

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completions returns the completions of a line, without descriptions, and the
// directive.
func completions(t *testing.T, line ...string) (words []string, directive string) {
	t.Helper()
	var out bytes.Buffer
	Main(append([]string{cobra.ShellCompRequestCmd}, line...), strings.NewReader(""), &out, &bytes.Buffer{})
	for l := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
		if strings.HasPrefix(word, ":") {
			return words, word
		}
		words = append(words, word)
	}
	t.Fatalf("%q: no directive in %q", line, out.String())
	return nil, ""
}

// TestComplete requests completions as a shell does.
func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a.gguf", "b.safetensors", "notes.txt", ".hidden.gguf"} {
		if err := os.WriteFile(f, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ line, want, directive string }{
		{"run --kv-type=", "f32 f16 q8_0", ":4"},
		{"run --pack ", "auto off memory disk", ":4"},
		{"run --probe ", "model none", ":4"},
		{"hw --probe ", "none quick full", ":4"},
		{"quantize --type q4", "q4_0 q4_1 q4_k_s q4_k_m", ":4"},
		{"plan --mode ", "prefill decode", ":4"},
		{"plan --max-tier ", "vram ram ssd", ":4"},
		{"plan --require ", "gpu", ":4"},
		{"run --budget r", "ram= runtime=", ":6"},
		{"run --budget ram=2GiB,k", "ram=2GiB,kv=", ":6"},
		{"run --samplers top-k,te", "top-k,temperature", ":6"},
		{"quila plan --profile na", "nano", ":4"},
		{"replay --policy no-", "no-gpu no-cooldown no-pressure no-ssd-last-resort", ":4"},
		{"flow run --policy ", "stop mute bypass", ":4"},
		{"flow grad --loss ", "sum energy mse", ":4"},
		{"checkpoint verify --gpu ", "auto true false", ":4"},
		{"train --model ", "llama mag", ":4"},
		{"run --temp ", "", ":4"},
		{"run --lora ", "", ":16"},
		{"plan --diff ./", "gguf safetensors", ":8"},
		{"run ", "atenia-story a.gguf b.safetensors folder/", ":6"},
		{"chat at", "atenia-story", ":4"},
		{"run ~/mod", "gguf safetensors", ":8"},
		{"run a.gguf ", "", ":4"},
		{"bench table a.gguf ", "atenia-story a.gguf b.safetensors folder/", ":6"},
		{"cache ls ", "", ":16"},
		{"train ", "toml", ":8"},
		{"flow check ", "json", ":8"},
		{"flow nodes Biq", "Biquad", ":4"},
		{"doctor ", "atenia-story a.gguf b.safetensors folder/", ":6"},
		{"doctor a.gguf ", "", ":4"},
		{"help ben", "bench", ":4"},
		{"help bench ker", "kernels", ":4"},
		{"versi", "version", ":4"},
	} {
		words := strings.Split(c.line, " ")
		got, directive := completions(t, words...)
		if strings.Join(got, " ") != c.want || directive != c.directive {
			t.Errorf("%q: got %q %s, want %q %s", c.line, got, directive, c.want, c.directive)
		}
	}
}

// TestCompleteKnowsFlags checks that every flag is in the table, and that every
// entry of the table has a flag.
func TestCompleteKnowsFlags(t *testing.T) {
	used := map[string]bool{}
	table := flagValues()
	root := (&app{args: []string{cobra.ShellCompRequestCmd}}).root()
	each(root, func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "atenia ")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			used["--"+f.Name], used[path+" --"+f.Name] = true, true
			if _, ok := c.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" && !c.Hidden {
				t.Errorf("%s --%s: nothing says what it completes to", c.CommandPath(), f.Name)
			}
		})
	})
	for key := range table {
		if !used[key] {
			t.Errorf("the table has %s, which is no flag", key)
		}
	}
}

// each calls f for every command below c.
func each(c *cobra.Command, f func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		f(sub)
		each(sub, f)
	}
}

// TestCompletionScripts writes the script of each shell.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if text := cliCall(t, "completion", shell); !bytes.Contains(text, []byte(cobra.ShellCompRequestCmd)) {
			t.Errorf("%s: %.200s", shell, text)
		}
	}
}

// TestCommandsAreFreed: nothing keeps the flags of a line that is over. What the library
// kept for completions made a process of many lines, as tests are, collect garbage all the time.
func TestCommandsAreFreed(t *testing.T) {
	run, _, err := (&app{args: []string{"version"}}).root().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	f := weak.Make(run.Flags().Lookup("temp"))
	for range 3 { // pools and weak pointers take more than one
		runtime.GC()
	}
	if f.Value() != nil {
		t.Error("the flag is still there")
	}
}
