package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// all collects documents and the error at the end.
func all[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for d, e := range seq {
		if e != nil {
			return list, e
		}
		list = append(list, d)
	}
	return list, nil
}

func TestLines(t *testing.T) {
	t.Parallel()
	docs, err := all(Lines(strings.NewReader("\ufeff{\"text\":\"a\"}\n\n  \r\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}],\"tools\":[1]}"), "f"))
	if err != nil || len(docs) != 2 {
		t.Fatal(docs, err)
	}
	if d := docs[0]; d.Text != "a" || d.Line != 1 || d.File != "f" || d.Messages != nil {
		t.Errorf("%+v", d)
	}
	if d := docs[1]; string(d.Messages) != `[{"role":"user","content":"b"}]` || string(d.Tools) != "[1]" || d.Line != 4 {
		t.Errorf("%+v", d)
	}
}

func TestLinesFaults(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"text":1}`:                             "want an object",
		`{"text":"a"`:                            "want an object",
		`["a"]`:                                  "want an object",
		`{}`:                                     "neither",
		`{"text":"a","messages":[]}`:             "both",
		`{"messages":[]}`:                        "is empty",
		`{"messages":{}}`:                        "want a list",
		`{"messages":[{"role":"user"},{"a":1}]}`: "message 1 has no",
	} {
		_, err := all(Lines(strings.NewReader("{\"text\":\"\"}\n"+line+"\n"), "f.jsonl"))
		e, ok := errors.AsType[*CorpusError](err)
		if !ok || e.Line != 2 || !errors.Is(err, ErrCorpusFormat) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.jsonl:2: ") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := all(Lines(strings.NewReader(strings.Repeat(" ", lineBytes+2)), "f")); !errors.Is(err, ErrCorpusFormat) {
		t.Error(err)
	}
}

// TestPieces cuts a long text at line ends without losing any of it.
func TestPieces(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200000 {
		fmt.Fprintf(&b, "line %d\n\n  it goes on;\nand on…\n", i)
	}
	for name, text := range map[string]string{
		"lines": b.String(), "no lines": strings.Repeat("日本語", 400000), "one byte": "a", "nothing": "",
		"exact": strings.Repeat("x", pieceBytes), "bad": strings.Repeat("a\n", pieceBytes) + strings.Repeat("\xbf", pieceBytes+9),
	} {
		docs, err := all(pieces(strings.NewReader(text), "f"))
		if name == "bad" {
			if e, ok := errors.AsType[*CorpusError](err); !ok || e.Line != pieceBytes+1 || !errors.Is(err, ErrCorpusFormat) {
				t.Errorf("no UTF-8: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var joined strings.Builder
		for i, d := range docs {
			if line := 1 + strings.Count(joined.String(), "\n"); d.Line != line {
				t.Errorf("%s: piece %d at line %d, want %d", name, i, d.Line, line)
			}
			joined.WriteString(d.Text)
			if !d.More {
				continue
			}
			if name == "lines" && (!strings.HasSuffix(d.Text, "\n") || strings.HasSuffix(d.Text, "\n\n")) {
				t.Errorf("%s: cut behind %q", name, d.Text[len(d.Text)-9:])
			}
			if name == "no lines" && strings.Contains(d.Text, "\ufffd") {
				t.Errorf("%s: cut in a character", name)
			}
		}
		if joined.String() != text {
			t.Errorf("%s: %d bytes of %d", name, joined.Len(), len(text))
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.jsonl")
	for file, text := range map[string]string{a: "plain", b: `{"messages":[{"role":"user","content":"hi"},{"role":"x","content":[1]}]}` + "\n" + `{"text":"t"}`} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := all(texts(context.Background(), []string{a, b}))
	if want := []string{"plain", "hi", "t"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := all(texts(context.Background(), []string{filepath.Join(dir, "c")})); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := all(texts(ctx, []string{a})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzLines reads anything as JSON lines: documents or an error with a line
// that exists, and never more text than there was.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"text\":\"a\"}\n{\"messages\":[{\"role\":\"user\",\"content\":null}]}"))
	f.Add([]byte("\ufeff\n{"))
	f.Add([]byte("{\"query\":\"q\",\"positive\":\"p\",\"negatives\":[\"n\"]}\n{\"query\":\"q\",\"document\":\"d\",\"label\":0.5}\n{\"text\":\"t\",\"label\":1}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := all(Lines(bytes.NewReader(data), "f"))
		total := 0
		for _, d := range docs {
			total += len(d.Messages) + len(d.Tools)
			if d.Pair == nil {
				continue
			}
			if math.IsNaN(d.Pair.Label) || math.IsInf(d.Pair.Label, 0) || !d.Pair.Labelled && len(d.Pair.Texts) == 0 {
				t.Fatalf("%+v", d.Pair)
			}
			for _, s := range d.Pair.All() {
				total += utf8.RuneCountInString(s) // escapes and damaged bytes are longer as runes
			}
		}
		if total > len(data) {
			t.Fatalf("%d bytes of %d", total, len(data))
		}
		if err != nil {
			e, ok := errors.AsType[*CorpusError](err)
			if !ok || e.Line < 1 || e.Line > 1+bytes.Count(data, []byte("\n")) {
				t.Fatal(err)
			}
		}
	})
}

func TestPairs(t *testing.T) {
	t.Parallel()
	docs, err := all(Lines(strings.NewReader(`{"query":"q","positive":"p","negatives":["n","m"]}
{"query":"q","document":"d","label":0.5}
{"text":"t","label":2}
{"text":"t","label":"good","query":7}
`), "f"))
	if err != nil || len(docs) != 4 {
		t.Fatal(docs, err)
	}
	if p := docs[0].Pair; p == nil || p.Query != "q" || !slices.Equal(p.Texts, []string{"p", "n", "m"}) || p.Labelled {
		t.Errorf("%+v", p)
	}
	if p := docs[1].Pair; p == nil || p.Label != 0.5 || !p.Labelled || !slices.Equal(p.All(), []string{"q", "d"}) {
		t.Errorf("%+v", p)
	}
	if p := docs[2].Pair; p == nil || p.Label != 2 || p.Texts != nil || docs[2].Text != "t" {
		t.Errorf("%+v", p)
	}
	if docs[3].Pair != nil || docs[3].Text != "t" {
		t.Errorf("%+v", docs[3])
	}
}

func TestPairFaults(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"query":"q"}`: "needs a \"positive\"",
		`{"query":"q","positive":"p","document":"d"}`:                                               "needs a \"positive\"",
		`{"query":null,"positive":"p"}`:                                                             "\"query\": want a text",
		`{"query":1,"positive":"p"}`:                                                                "\"query\": want a text",
		`{"query":"q","positive":null}`:                                                             "\"positive\": want a text",
		`{"query":"q","positive":["p"]}`:                                                            "\"positive\": want a text",
		`{"query":"q","positive":"p","label":1}`:                                                    "belongs to a \"document\"",
		`{"query":"q","positive":"p","negatives":"n"}`:                                              "want a list",
		`{"query":"q","positive":"p","negatives":["n",null]}`:                                       "text 1 is null",
		`{"query":"q","document":"d"}`:                                                              "needs a \"label\"",
		`{"query":"q","document":"d","label":"yes"}`:                                                "needs a \"label\"",
		`{"query":"q","document":"d","label":1e999}`:                                                "needs a \"label\"",
		`{"query":"q","document":{},"label":1}`:                                                     "\"document\": want a text",
		`{"query":"q","document":"d","label":1,"negatives":[]}`:                                     "belong to a \"positive\"",
		`{"query":"q","positive":"p","negatives":[` + strings.Repeat(`"",`, mostNegatives) + `""]}`: "at most 1024",
	} {
		_, err := all(Lines(strings.NewReader("{\"text\":\"\"}\n"+line+"\n"), "f.jsonl"))
		e, ok := errors.AsType[*CorpusError](err)
		if !ok || e.Line != 2 || !errors.Is(err, ErrCorpusFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", line, err)
		}
	}
}
