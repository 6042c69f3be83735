package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"atenia/internal/cli/command"
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
