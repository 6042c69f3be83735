package data

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/text"
	"atenia/internal/text/token"
)

// encoderOf returns the folder and the tokenizer of a fixture.
func encoderOf(t testing.TB, name string) (string, *text.Text) {
	t.Helper()
	dir := filepath.Join(golden.Root(t), "testdata", "golden", "parity", name)
	files, err := text.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	x, err := text.LoadFiles(dir, []byte("{}"), files)
	if err != nil {
		t.Fatal(err)
	}
	return dir, x
}

// texts returns the texts of a batch without special tokens.
func texts(x *text.Text, b *Batch) (out []string) {
	at := 0
	for _, n := range b.Lens {
		out = append(out, strings.TrimSpace(x.Tokenizer.Decode(b.Tokens[at:at+n], true)))
		at += n
	}
	return out
}

const pairs = `{"query":"a","positive":"one"}
{"query":"b","positive":"two","negatives":["three","one"]}
{"query":"c","positive":"one"}
{"query":"d","positive":"d"}
{"query":"e","positive":"five"}
`

// TestPairBatches: every query finds its answer in the batch, prompts precede texts, a
// document is in a batch once, and an epoch has every example once.
func TestPairBatches(t *testing.T) {
	t.Parallel()
	dir, x := encoderOf(t, "gemma_embedding") // prompts "query: " and "passage: "
	answers := map[string]string{"query: a": "passage: one", "query: b": "passage: two", "query: c": "passage: one", "query: d": "passage: d", "query: e": "passage: five"}
	for _, memory := range []int64{0, 40} { // also from a file
		s := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", pairs)}, Row: 32, Rows: 4, Model: dir, MemoryBytes: memory, Dir: t.TempDir()}, x)
		if sum := s.Summary(); sum.Documents != 5 || sum.Long != 0 || s.Goals() != "vectors" {
			t.Fatalf("%+v, %q", sum, s.Goals())
		}
		most, documents := s.Most()
		src := s.Train()
		var b Batch
		var seen []string
		cursors := []string{}
		for range 6 { // 3 epochs of 4 and 1 examples
			cursors = append(cursors, src.Cursor())
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
			got := texts(x, &b)
			if len(b.Tokens) > most || len(b.Lens) > documents || len(b.Answers) != len(b.Lens) || b.Targets != nil || len(b.Labels) != len(b.Tokens) {
				t.Fatalf("%+v", b)
			}
			once := map[string]int{}
			for i, a := range b.Answers {
				if a < 0 {
					if once[got[i]]++; once[got[i]] > 1 || !strings.HasPrefix(got[i], "passage: ") {
						t.Errorf("document %q is in a batch %d times", got[i], once[got[i]])
					}
					continue
				}
				if seen = append(seen, got[i]); answers[got[i]] != got[a] || b.Answers[a] >= 0 {
					t.Errorf("%q is answered by %q", got[i], got[a])
				}
			}
			if b.Counted() != len(b.Answers)-len(once) {
				t.Errorf("%d count", b.Counted())
			}
		}
		for e := range 3 {
			if epoch := slices.Sorted(slices.Values(seen[5*e : 5*e+5])); len(slices.Compact(epoch)) != 5 {
				t.Errorf("epoch %d has %q", e, epoch)
			}
		}
		again := slices.Clone(b.Tokens)
		if err := src.Seek(cursors[5]); err != nil {
			t.Fatal(err)
		}
		if err := src.Next(&b); err != nil || !slices.Equal(b.Tokens, again) {
			t.Errorf("a cursor leads elsewhere: %v", err)
		}
	}
}

// TestLabelBatches: a pair of texts is one row, with types and a target.
func TestLabelBatches(t *testing.T) {
	t.Parallel()
	dir, x := encoderOf(t, "bert_rerank")
	s := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", "{\"query\":\"a\",\"document\":\"b\",\"label\":0.25}\n{\"text\":\"c\",\"label\":1}\n")}, Row: 32, Rows: 2, Model: dir}, x)
	var b Batch
	if err := s.Train().Next(&b); err != nil {
		t.Fatal(err)
	}
	if len(b.Lens) != 2 || b.Counted() != 2 || len(b.Types) != len(b.Tokens) || b.Answers != nil || s.Goals() != "scores" {
		t.Fatalf("%+v", b)
	}
	at := 0
	for i, n := range b.Lens {
		want, types, target := x.Tokenizer.Encode("c", true), make([]int32, n), float32(1)
		if b.Targets[i] != 1 {
			want, types = x.Tokenizer.EncodePair("a", "b")
			target = 0.25
		}
		if !slices.Equal(b.Tokens[at:at+n], want) || !slices.Equal(b.Types[at:at+n], types) || b.Targets[i] != target {
			t.Errorf("row %d: %v of types %v, target %v", i, b.Tokens[at:at+n], b.Types[at:at+n], b.Targets[i])
		}
		at += n
	}
}

// TestPairsHeldOut: an example is held out as a whole, and one is if fewer should be.
func TestPairsHeldOut(t *testing.T) {
	t.Parallel()
	dir, x := encoderOf(t, "gemma_embedding")
	for share, want := range map[float64]int{0.1: 1, 0.4: 2} {
		s := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", pairs)}, Rows: 8, Model: dir, Heldout: share}, x)
		held, ok := s.Heldout()
		if !ok || s.Summary().Heldout != want {
			t.Fatalf("%+v", s.Summary())
		}
		var a, b Batch
		if err := errors.Join(held.Next(&a), s.Train().Next(&b)); err != nil || a.Counted() != want || b.Counted() != 5-want {
			t.Errorf("%d and %d examples: %v", a.Counted(), b.Counted(), err)
		}
	}
}

// TestLongPairs: long texts are cut, or their examples dropped.
func TestLongPairs(t *testing.T) {
	t.Parallel()
	dir, x := encoderOf(t, "gemma_embedding")
	path := sourceFile(t, "a.jsonl", pairs+`{"query":"`+strings.Repeat("long ", 50)+`","positive":"short"}`)
	s := open(t, Config{Files: []string{path}, Row: 24, Rows: 6, Model: dir}, x)
	var b Batch
	if err := s.Train().Next(&b); err != nil || slices.Max(b.Lens) != 24 || b.Counted() != 6 || s.Summary().Long != 1 {
		t.Errorf("%v, %v", b.Lens, err)
	}
	s = open(t, Config{Files: []string{path}, Row: 24, Rows: 6, Model: dir, Long: drop}, x)
	if err := s.Train().Next(&b); err != nil || b.Counted() != 5 || s.Summary().Empty != 1 {
		t.Errorf("%d, %v", b.Counted(), err)
	}
}

// TestPairFaults: lines that a model cannot learn from are named.
func TestPairFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, line, want string }{
		{"gemma_embedding", `{"text":"a"}`, "the model makes vectors: want"},
		{"gemma_embedding", `{"messages":[{"role":"user","content":"a"}]}`, "the model makes vectors: want"},
		{"gemma_embedding", `{"query":"a","document":"b","label":1}`, "the model makes vectors: want"},
		{"bert_rerank", `{"query":"a","positive":"b"}`, "gives pairs of texts a score"},
		{"bert_rerank", `{"text":"a"}`, "gives pairs of texts a score"},
		{"bert_rerank", `{"query":"a","document":"b","label":1.5}`, "label 1.5"},
		{"bert_rerank", `{"query":"a","document":"b","label":-1}`, "label -1"},
		{"gemma_embedding", `{"query":"a","positive":"b","negatives":["c",1]}`, "want a list of texts"},
		{"bert_rerank", `{"text":"","label":1}`, "without tokens"},
		{"llama3", `{"query":"a","positive":"b"}`, "the model generates text"},
		{"llama3", `{"query":"a","document":"b","label":1}`, "the model generates text"},
	} {
		dir, x := encoderOf(t, c.model)
		_, err := Open(t.Context(), Config{Files: []string{sourceFile(t, "a.jsonl", "\n"+c.line+"\n")}, Model: dir}, x)
		if e, ok := errors.AsType[*token.CorpusError](err); !ok || e.Line != 2 || !errors.Is(err, errConfig) && !errors.Is(err, token.ErrCorpusFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.model, c.line, err)
		}
	}
	dir, _ := encoderOf(t, "bert_rerank")
	files, err := text.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	const special = `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"!","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"!","type_id":0}}],
		"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"!":{"id":"!","ids":[5],"tokens":["!"]}}}`
	name := "tokenizer.json"
	files[name] = []byte(regexp.MustCompile(`"post_processor": ?null`).ReplaceAllString(string(files[name]), special))
	x, err := text.LoadFiles(dir, []byte("{}"), files)
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range map[int]string{1: "have no room", 2: ""} {
		_, err := Open(t.Context(), Config{Files: []string{sourceFile(t, "a.jsonl", `{"text":"a","label":1}`)}, Model: dir, Row: row}, x)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("rows of %d: %v", row, err)
		}
	}
}

// FuzzExamples: whatever texts become an example, the batch has their tokens.
func FuzzExamples(f *testing.F) {
	f.Add("a", "b", "c", uint8(9), float32(0.5))
	f.Add("", "\xff", strings.Repeat("x ", 99), uint8(3), float32(2))
	var both []*pairing
	for _, name := range []string{"gemma_embedding", "bert_rerank"} {
		dir, x := encoderOf(f, name)
		p, err := openPairs(dir, x.Tokenizer, 512)
		if err != nil {
			f.Fatal(err)
		}
		both = append(both, p)
	}
	f.Fuzz(func(t *testing.T, query, a, b string, row uint8, label float32) {
		for _, p := range both {
			p.limit, p.longest, p.texts = int(row), 0, 0
			pair := &token.Pair{Query: query, Texts: []string{a, b}}
			if p.labels > 0 {
				pair.Texts, pair.Labelled, pair.Label = pair.Texts[:1], true, float64(label)
			}
			list, _, err := p.example(t.Context(), nil, &token.Document{Pair: pair})
			if err != nil {
				if !errors.Is(err, errConfig) {
					t.Fatal(err)
				}
				continue
			}
			batch := &Batch{}
			p.take(batch, list)
			p.take(batch, list)
			sum := 0
			for _, n := range batch.Lens {
				if sum += n; n < 1 || n > int(row) {
					t.Fatalf("a text of %d tokens, the limit is %d", n, row)
				}
			}
			if sum != len(batch.Tokens) || len(batch.Tokens) > 2*p.longest || len(batch.Lens) > 2*p.texts || batch.Counted() != 2 || len(batch.Types) != 0 && len(batch.Types) != sum {
				t.Fatalf("%+v", batch)
			}
		}
	})
}
