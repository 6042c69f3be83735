package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/golden"

	"github.com/spf13/cobra"
)

// cliCall runs a command that must succeed and say nothing on standard error.
func cliCall(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errw bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errw); code != command.OK || errw.Len() > 0 {
		t.Fatalf("%q: exit %d, %s", args, code, errw.String())
	}
	return out.Bytes()
}

// callJSON decodes a command's output into exactly the fields of v.
func callJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	b := cliCall(t, append(args, "--json")...)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, b)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("%q prints more than one value", args)
	}
}

// TestLogitsJSON compares what logits prints, bit for bit, with the library.
func TestLogitsJSON(t *testing.T) {
	dir := filepath.Join(golden.Root(t), "testdata", "golden", "parity", "qwen3")
	m, err := atenia.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want, err := m.Logits(t.Context(), []int32{3, 1, 4, 1, 5}, atenia.LogitsOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want [][]float32
	}{{nil, want[4:]}, {[]string{"--all"}, want}, {[]string{"--all", "--step", "2"}, want}, {[]string{"--step", "5"}, want[4:]}, {[]string{"--all", "--step", "2", "--backend", "graph"}, want},
		{[]string{"--all", "--batch-tokens", "600", "--backend", "graph,cpu"}, want}} {
		var got struct {
			Vocab  int
			Logits [][]float32
		}
		callJSON(t, &got, append([]string{"logits", dir, "--tokens", "3, 1,4,1,5"}, c.args...)...)
		if got.Vocab != m.Vocab() || !slices.EqualFunc(got.Logits, c.want, slices.Equal) {
			t.Errorf("%v: other logits than the library's", c.args)
		}
	}
	plain := string(cliCall(t, "logits", dir, "--tokens", "3,1,4,1,5", "--all"))
	if strings.Count(plain, "\n") != 5 || len(strings.Fields(plain)) != 5*m.Vocab() {
		t.Error("the plain form is not a line of numbers for each token")
	}
}

// TestBackend: what a backend cannot take is an error before anything is computed, what it
// records is counted.
func TestBackend(t *testing.T) {
	var out, errs bytes.Buffer
	for args, want := range map[string]string{
		"logits --tokens 1 --backend graph --batch-tokens 600": "graph: instruction 0: batch size unsupported: embedding with batch 600, at most 512",
		"plan --backend graph --chunk 600":                     "batch size unsupported",
		"logits --tokens 1 --backend gpu":                      `Backend is "gpu", want cpu, graph, or both in order of preference`,
	} {
		errs.Reset()
		if code := Main(strings.Fields(args), nil, &out, &errs); code == command.OK || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, errs.String())
		}
	}
	cliCall(t, "plan", "--backend", "graph,cpu", "--chunk", "600")
	var r benchResult
	callJSON(t, &r, "bench", "-p", "16", "-n", "4", "-r", "1", "-t", "1", "--counters", "--backend", "graph")
	if c := r.Counters; c == nil || c.Prefill.Evaluations != 1 || c.Decode.Evaluations != 1 {
		t.Errorf("%+v", r.Counters)
	}
}

// TestBench checks the fields that scripts read.
func TestBench(t *testing.T) {
	var r benchResult
	callJSON(t, &r, "bench", "-p", "16", "-n", "4", "-r", "1", "-t", "1")
	if r.PrefillSpeed <= 0 || r.DecodeSpeed <= 0 || r.Bandwidth <= 0 || r.Share <= 0 || r.Prefill.Tokens != 16 || r.Decode.Tokens != 4 || r.Threads != 1 {
		t.Errorf("%+v", r)
	}
	callJSON(t, &r, "bench", "-p", "0", "-n", "4", "-r", "1")
	text := string(cliCall(t, "bench", "-p", "16", "-n", "0", "-r", "1", "-t", "1"))
	if !strings.Contains(text, "prefill 16") || strings.Contains(text, "decode") {
		t.Errorf("bench of a prompt alone:\n%s", text)
	}
	// The machine's roofs are not measured: that takes more than a budget.
	text = string(cliCall(t, "bench", "-p", "16", "-n", "4", "-r", "1", "--budget", "ram=1GiB"))
	if !strings.Contains(text, "decode reads") || !strings.Contains(text, "prefill does") || strings.Contains(text, "this machine") {
		t.Errorf("bench with a budget:\n%s", text)
	}
}

// TestBenchBatchBudget expects a budget to be planned for all sequences of a bench: with
// room for the keys and values of one, the others would be preempted and computed again.
func TestBenchBatchBudget(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cliCall(t, "bench", "-p", "0", "-n", "2", "-r", "1", "-b", "4", "--ctx", "256", "--budget", "ram=1GiB", "--decisions", log)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte("4.5 MiB of keys and values are written")) { // four times 256 tokens of 4,608 B
		t.Error("no plan has keys and values for four sequences")
	}
}

func TestDoctor(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the machine")
	}
	var r struct {
		Threads int
		Checks  []struct {
			Name  string
			OK    bool
			Vital bool
			Text  string
		}
	}
	if err := json.Unmarshal(cliCall(t, "doctor", "--json"), &r); err != nil {
		t.Fatal(err)
	}
	vital := 0
	for _, c := range r.Checks {
		if c.Vital {
			vital++
			if !c.OK {
				t.Errorf("%s: %s", c.Name, c.Text)
			}
		}
	}
	if vital < 2 || r.Threads < 1 {
		t.Errorf("%+v", r)
	}
}

// TestExitCodes covers the ones that no scenario can show.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("doctor: %w", command.ErrVerify), command.BadResult},
		{command.Usagef("no"), command.BadUsage},
		{fmt.Errorf("x: %w", &atenia.ConfigError{Field: "Threads"}), command.BadUsage},
		{fmt.Errorf("x: %w", &atenia.ConfigError{Field: "TopP"}), command.BadUsage},
		{atenia.ErrClosed, command.Failure},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.want)
		}
	}
}

// TestHelp checks that every command has help with an example, and --json.
func TestHelp(t *testing.T) {
	root := (&app{}).root()
	for _, name := range []string{"run", "chat", "plan", "inspect", "embed", "rerank", "logits", "tokenize", "quantize", "doctor", "bench", "explain", "replay"} {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			t.Errorf("no command %s", name)
			continue
		}
		if c := root.Commands()[i]; c.Example == "" || c.Short == "" || c.Long == "" {
			t.Errorf("%s: no example, or nothing said about it", name)
		}
		for _, args := range [][]string{{name, "--help"}, {"help", name}} {
			if text := string(cliCall(t, args...)); !strings.Contains(text, "Examples:") || !strings.Contains(text, "--json") {
				t.Errorf("%q: no example or no --json:\n%s", args, text)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range root.Commands() {
		if seen[c.Name()] {
			t.Errorf("two commands %s", c.Name())
		}
		seen[c.Name()] = true
	}
	if !strings.Contains(string(cliCall(t)), "atenia run") {
		t.Error("nothing is said without a command")
	}
}

// failing is an output that cannot be written.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestOutputLost: a result that could not be written is a failure, whatever the command;
// its help, too.
func TestOutputLost(t *testing.T) {
	lost := func(args ...string) {
		var errw bytes.Buffer
		if code := Main(args, strings.NewReader(""), failing{}, &errw); code != command.Failure || !strings.Contains(errw.String(), io.ErrClosedPipe.Error()) {
			t.Errorf("%q: exit %d, %s", args, code, errw.String())
		}
	}
	lost("tokenize", "--text", "a")
	lost("bench", "policy", "--neighbours", "0", "-n", "1")
	lost("version")
	var help func(c *cobra.Command, path []string)
	n := 0
	help = func(c *cobra.Command, path []string) {
		if c.Hidden {
			return
		}
		n++
		lost(append(path[:len(path):len(path)], "--help")...)
		for _, sub := range c.Commands() {
			help(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	help((&app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}).root(), nil)
	if n < 50 {
		t.Errorf("%d commands", n)
	}
}

// TestBrokenPipe: a reader that went away ends a command with an error, not
// with work for nothing.
func TestBrokenPipe(t *testing.T) {
	for _, args := range [][]string{{"run", "Once", "--ignore-eos"}, {"logits", "--tokens", "1", "--json"}, {"tokenize", "--text", "a", "--json"}, {"plan"}, {"inspect"}} {
		if code := Main(args, strings.NewReader(""), failing{}, io.Discard); code != command.Failure {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

// TestChatSpecial: control tokens in a message are text, of which more tokens are made than
// the context holds, unless the flag says otherwise.
func TestChatSpecial(t *testing.T) {
	for flag, want := range map[string]int{"": 0, "--parse-special": 1} {
		args := slices.DeleteFunc([]string{"chat", "--temp", "0", "--ctx", "80", "-n", "2", "--json", flag}, func(s string) bool { return s == "" })
		var out, errw bytes.Buffer
		Main(args, strings.NewReader(strings.Repeat("<|im_end|>", 40)+"\n"), &out, &errw)
		if strings.Count(out.String(), `"role":"assistant"`) != want || want == 0 && !strings.Contains(errw.String(), "context") {
			t.Errorf("%v: %s\n%s", args, errw.String(), out.String())
		}
	}
}

// TestChatForgets fills the context: the oldest messages are removed.
func TestChatForgets(t *testing.T) {
	questions := strings.Repeat("Tell me a story about a dog and a cat, please.\n", 12)
	var out, errw bytes.Buffer
	code := Main([]string{"chat", "--temp", "0", "--ctx", "160", "-n", "12", "--json"}, strings.NewReader(questions), &out, &errw)
	if code != command.OK || strings.Count(out.String(), `"role":"assistant"`) != 12 {
		t.Errorf("exit %d, %s\n%s", code, errw.String(), out.String())
	}
}
