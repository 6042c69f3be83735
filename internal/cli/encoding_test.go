package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestEncodings: files that are not UTF-8 are errors with file, line and what to do; a
// byte order mark changes nothing.
func TestEncodings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	wide := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("{\"text\": \"wide\"}\n")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	from := filepath.Join(golden.Family(t, "parity"), "llama3")
	// in returns a text of ASCII in units of so many bytes, without a mark.
	in := func(text string, before, after int) string {
		var b strings.Builder
		for i := range len(text) {
			b.WriteString(strings.Repeat("\x00", before) + text[i:i+1] + strings.Repeat("\x00", after))
		}
		return b.String()
	}
	// model is a folder in which one file is changed.
	model := func(name string, change func(string) string) string {
		t.Helper()
		dir := t.TempDir()
		b, err := os.ReadFile(filepath.Join(from, name))
		if err = errors.Join(err, os.CopyFS(dir, os.DirFS(from)), os.WriteFile(filepath.Join(dir, name), []byte(change(string(b))), 0o600)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	adapter := func(config string) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	marked16 := func(s string) string { return "\xff\xfe" + in(s, 0, 1) }
	little := func(s string) string { return in(s, 0, 1) }
	big := func(s string) string { return in(s, 1, 0) }
	half := func(s string) string { return s[:len(s)/2] }
	const good = "{\"text\": \"a good line of text\"}\n"
	train := func(name, text string) []string {
		data := write(name, text)
		return []string{"train", write(name+".toml", "[model]\nhidden=16\nlayers=1\nheads=2\n[data]\nfiles=['"+data+"']\nrow=16\nrows=1\n[train]\nsteps=1\nout='"+filepath.Join(dir, name+".out")+"'\n"), "--quiet"}
	}
	question := `{"question": "q", "choices": ["a", "b"], "answer": 0}` + "\n"
	for _, c := range []struct {
		args   []string
		in     string
		wanted []string // of the error; nil = the command succeeds
	}{
		{train("latin.jsonl", good+"{\"text\": \"caf\xe9\"}\n"), "", []string{"latin.jsonl:2: ", "LATIN1", "iconv"}},
		{train("latin.txt", "good\ncaf\xe9 is bad\n"), "", []string{"latin.txt:2: ", "LATIN1", "iconv"}},
		{train("wide.jsonl", string(wide)), "", []string{"wide.jsonl:1: ", "UTF-16", "iconv"}},
		{train("little.jsonl", little(good)), "", []string{"little.jsonl:1: ", "UTF-16LE", "iconv"}},
		{train("big.txt", big("good words\n")), "", []string{"big.txt:1: ", "UTF-16BE", "iconv"}},
		{train("latin16.txt", little("caf")+"\xe9\x00"+little(" is bad\n")), "", []string{"latin16.txt:1: ", "UTF-16LE", "iconv"}},
		{train("cyrillic.txt", strings.Repeat("\x1f\x04\x40\x04\xb8\x04 \x00", 40)), "", []string{"cyrillic.txt:1: ", "UTF-16", "iconv"}},
		{train("four.txt", in("good words\n", 0, 3)), "", []string{"four.txt:1: ", "UTF-32LE", "iconv"}},
		{[]string{"eval", "--text", write("l.txt", little("one two"))}, "", []string{"l.txt: line 1", "UTF-16LE"}},
		{[]string{"run", model("config.json", marked16), "a"}, "", []string{"config.json: line 1", "UTF-16:"}},
		{[]string{"run", model("config.json", little), "a"}, "", []string{"config.json: line 1", "UTF-16LE"}},
		{[]string{"run", model("tokenizer.json", marked16), "a"}, "", []string{"tokenizer.json: line 1", "UTF-16:"}},
		{[]string{"run", model("tokenizer.json", big), "a"}, "", []string{"tokenizer.json: line 1", "UTF-16BE"}},
		{[]string{"run", model("tokenizer_config.json", little), "a"}, "", []string{"tokenizer_config.json: line 1", "UTF-16LE"}},
		{[]string{"run", model("tokenizer.json", half), "a"}, "", []string{"tokenizer", "the file is cut"}},
		{[]string{"tokenize", "--text", "a", filepath.Join(model("tokenizer.json", little), "tokenizer.json")}, "", []string{"tokenizer.json: line 1", "UTF-16LE"}},
		{[]string{"run", "--lora", adapter(`{"r": 8, "lora_al`), "a"}, "", []string{"adapter_config.json:1:10: ", "a string that never ends"}},
		{[]string{"run", "--lora", adapter(marked16(`{"r": 8}`)), "a"}, "", []string{"adapter_config.json: ", "UTF-16:"}},
		{[]string{"run", "--lora", adapter(little(`{"r": 8}`)), "a"}, "", []string{"adapter_config.json: ", "UTF-16LE"}},
		{train("mark.jsonl", "\ufeff"+strings.Repeat(good, 8)), "", nil},
		{train("mark.txt", "\ufeff"+strings.Repeat("good words\n", 40)), "", nil},
		{[]string{"tokenize", "--file", write("t.json", "[\"caf\xe9\"]")}, "", []string{"t.json: ", "line 1", "LATIN1"}},
		{[]string{"tokenize", "--file", write("m.json", "\ufeff[\"a\"]")}, "", nil},
		{[]string{"eval", "--choices", write("q.jsonl", question+strings.Replace(question, "q", "\xe9", 1))}, "", []string{"q.jsonl: line 2", "LATIN1"}},
		{[]string{"eval", "--choices", write("m.jsonl", "\ufeff"+question)}, "", nil},
		{[]string{"eval", "--text", write("e.txt", "one\ntwo \xe9\n")}, "", []string{"e.txt: line 2", "LATIN1"}},
		{[]string{"eval", "--text", write("em.txt", "\ufeffOnce upon a time there was a dog.")}, "", nil},
		{[]string{"imatrix", "--out", filepath.Join(dir, "o.gguf"), "--text", write("i.txt", "\xe9")}, "", []string{"i.txt: line 1", "LATIN1"}},
		{[]string{"run", "-n", "1"}, "caf\xe9", []string{"standard input: line 1", "LATIN1"}},
		{[]string{"run", "-n", "1"}, "\ufeffOnce", nil},
		{[]string{"run", "a", "-n", "1", "--grammar", write("g.gbnf", "\ufeffroot ::= \"a\"")}, "", nil},
		{[]string{"run", "a", "-n", "1", "--schema", write("s.json", "{\"const\": \"\xe9\"}")}, "", []string{"--schema: line 1", "LATIN1"}},
	} {
		var out, errw bytes.Buffer
		code := Main(c.args, strings.NewReader(c.in), &out, &errw)
		if (code == command.OK) != (c.wanted == nil) {
			t.Errorf("%q: exit %d, %s", c.args, code, errw.String())
		}
		for _, w := range c.wanted {
			if !strings.Contains(errw.String(), w) {
				t.Errorf("%q: %s, want %q", c.args, errw.String(), w)
			}
		}
	}
	var plain, marked bytes.Buffer
	Main([]string{"run", "-n", "5", "--temp", "0"}, strings.NewReader("Once"), &plain, &bytes.Buffer{})
	Main([]string{"run", "-n", "5", "--temp", "0"}, strings.NewReader("\ufeffOnce"), &marked, &bytes.Buffer{})
	if plain.String() != marked.String() {
		t.Errorf("%q with a mark, %q without", marked.String(), plain.String())
	}
}

// TestFileNames: a file's name has no line of its own, whatever is in it.
func TestFileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\nb\x1b")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", dir}, {"plan", dir}, {"doctor", dir, "--probe", "none"}, {"inspect", filepath.Join(dir, "no.gguf")}, {"run", filepath.Join(dir, "no.gguf"), "a"}} {
		var out, errw bytes.Buffer
		Main(args, strings.NewReader(""), &out, &errw)
		said, _, _ := strings.Cut(out.String()+errw.String(), "\n   atenia") // a command is as a shell takes it
		if !strings.Contains(said, `a\nb\x1b`) || strings.Contains(said, "a\nb") {
			t.Errorf("%q: %s", args, said)
		}
	}
}
