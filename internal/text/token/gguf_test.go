package token

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// inexpressible lists the kinds that GGUF cannot hold, and the part it has no
// place for.
var inexpressible = map[string]string{
	"added":      "pre_tokenizer",
	"bert_cased": "normalizer",
	"clip":       "pre_tokenizer",
	"mistral":    "normalizer",
	"phi3":       "added_tokens",
	"roberta":    "added_tokens",
	"whisper":    "post_processor",
	"xlmr":       "normalizer",
}

// TestGGUFRoundTrip writes every kind as GGUF metadata and reads it back:
// either each text gets the same ids, or the error names the setting that GGUF
// cannot express.
func TestGGUFRoundTrip(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	var texts []string
	golden.JSON(t, filepath.Join(dir, "texts.json"), &texts)
	for _, kind := range goldenKinds(t, dir) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tok := goldenLoad(t, dir, kind)
			v, err := tok.ToGGUF()
			if lost := inexpressible[kind]; lost != "" {
				e, ok := errors.AsType[*InexpressibleError](err)
				if !ok || !strings.HasPrefix(e.Part, lost) {
					t.Fatalf("got %v, want that %s cannot be expressed", err, lost)
				}
				if len(v.Tokens) != tok.VocabSize() || len(v.Types) != len(v.Tokens) {
					t.Errorf("%d tokens, %d types of %d", len(v.Tokens), len(v.Types), tok.VocabSize())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("model %s, pre %s, special %v", v.Model, v.Pre, v.Special)
			back, err := FromVocab(v)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range texts {
				for _, special := range []bool{true, false} {
					want := tok.Encode(s, special)
					if got := back.Encode(s, special); !slices.Equal(got, want) {
						t.Errorf("%.60q:\n got %v\nwant %v", s, got, want)
					}
					if got := back.Decode(want, special); got != tok.Decode(want, special) {
						t.Errorf("%v decodes to %q", want, got)
					}
				}
			}
			if _, err := back.ToGGUF(); err != nil {
				t.Errorf("writing again: %v", err)
			}
		})
	}
}

// TestScoresAlone reads SentencePiece vocabularies as other programs write
// them, with scores and no merges.
func TestScoresAlone(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	var texts []string
	golden.JSON(t, filepath.Join(dir, "texts.json"), &texts)
	for _, kind := range []string{"llama2", "gemma"} {
		t.Run(kind, func(t *testing.T) {
			tok := goldenLoad(t, dir, kind)
			v, err := tok.ToGGUF()
			if err != nil {
				t.Fatal(err)
			}
			v.Merges = nil
			back, err := FromVocab(v)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range texts {
				if got, want := back.Encode(s, true), tok.Encode(s, true); !slices.Equal(got, want) {
					t.Errorf("%.60q:\n got %v\nwant %v", s, got, want)
				}
			}
		})
	}
}

func tinyVocab() Vocab {
	v := Vocab{Model: "gpt2", Pre: "gpt-2", Special: map[string]int32{"eos": 257}}
	for b := range 256 {
		v.Tokens, v.Types = append(v.Tokens, string(byteChar[b])), append(v.Types, TypeNormal)
	}
	v.Tokens, v.Types = append(v.Tokens, "ab", "<end>"), append(v.Types, TypeNormal, TypeControl)
	v.Merges = []string{"a b"}
	return v
}

func TestFromVocab(t *testing.T) {
	tok, err := FromVocab(tinyVocab())
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("ab<end>b", true); !slices.Equal(got, []int32{256, 257, 'b'}) {
		t.Errorf("got %v", got)
	}
	if !tok.IsSpecial(257) || tok.IsSpecial(256) || tok.IsSpecial(-5) || tok.IsSpecial(1<<30) {
		t.Error("only <end> is special")
	}
	yes := true
	v := tinyVocab()
	v.AddEOS = &yes
	if tok, err = FromVocab(v); err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("a", true); !slices.Equal(got, []int32{'a', 257}) {
		t.Errorf("with add_eos_token: got %v", got)
	}
}

// TestFromVocabRefuses checks that faults of a vocabulary are named.
func TestFromVocabRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Vocab)
		want   string
	}{
		"model":   {func(v *Vocab) { v.Model = "plamo2" }, `tokenizer.ggml.model: unknown tokenizer model "plamo2"`},
		"novocab": {func(v *Vocab) { v.Model = "no_vocab" }, "ids only"},
		"pre":     {func(v *Vocab) { v.Pre = "gpt-9" }, `tokenizer.ggml.pre: unknown pre-tokenizer "gpt-9"`},
		"types":   {func(v *Vocab) { v.Types = v.Types[1:] }, "tokenizer.ggml.token_type: want 258 values"},
		"scores":  {func(v *Vocab) { v.Model = "t5" }, "tokenizer.ggml.scores: want 258 values, got none"},
		"special": {func(v *Vocab) { v.Special["bos"] = 258 }, "tokenizer.ggml.bos_token_id: want an id below 258"},
		"merge":   {func(v *Vocab) { v.Merges = []string{"a b", "a zz"} }, "tokenizer.ggml.merges[1]"},
		"result":  {func(v *Vocab) { v.Merges = []string{"b a"} }, "tokenizer.ggml.merges[0]"},
		"bos":     {func(v *Vocab) { yes := true; v.AddBOS = &yes }, "add_bos_token"},
		"unk":     {func(v *Vocab) { v.Model = "bert" }, "tokenizer.ggml.unknown_token_id"},
	} {
		t.Run(name, func(t *testing.T) {
			v := tinyVocab()
			c.change(&v)
			_, err := FromVocab(v)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPreNames checks that every name builds a tokenizer and that none is
// listed twice.
func TestPreNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range pres {
		for _, name := range p.names {
			if seen[name] {
				t.Errorf("%q is listed twice", name)
			}
			seen[name] = true
			if p.whole || p.plain { // other alphabets: TestWholeText
				continue
			}
			v := tinyVocab()
			v.Pre = name
			tok, err := FromVocab(v)
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			const s = "ab 12345 Don't стоп\r\n\n  漢字!? <end>x"
			if got := tok.Decode(tok.Encode(s, false), false); got != s {
				t.Errorf("%q: %q came back as %q", name, s, got)
			}
		}
	}
	for _, want := range []string{"default", "llama-bpe", "llama3", "qwen2", "gpt-2", "deepseek-v3", "gpt-4o", "tekken", "smollm", "falcon"} {
		if !seen[want] {
			t.Errorf("no %q among %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestWholeText reads vocabularies whose tokens are text rather than bytes.
func TestWholeText(t *testing.T) {
	v := Vocab{Model: "gemma4", Tokens: []string{"<unk>", "<end>", "a", "b", "ab", metaMark, "b" + metaMark, "\n", "\n\n"},
		Types: []int32{TypeUnknown, TypeControl, 1, 1, 1, 1, 1, 1, 1}, Merges: []string{"b " + metaMark, "a b", "\n \n"}, Special: map[string]int32{"unk": 0}}
	for b := range 256 {
		v.Tokens, v.Types = append(v.Tokens, fmt.Sprintf("<0x%02X>", b)), append(v.Types, TypeByte)
	}
	const base = 9
	for _, c := range []struct {
		model, pre, text, back string
		want                   []int32
	}{
		{"gemma4", "", "ab ab", "", []int32{2, 6, 4}}, // the merge across words has the lower rank
		{"gpt2", "gemma4", "\n\n\n", "", []int32{8, 7}},
		{"gpt2", "sarvam-moe", "é<end>", "", []int32{base + 0xc3, base + 0xa9, 1}},
		{"whitespace", "", " ab\tb a", "ab b a", []int32{4, 3, 2}},
	} {
		v.Model, v.Pre = c.model, c.pre
		tok, err := FromVocab(v)
		if err != nil {
			t.Fatal(err)
		}
		got := tok.Encode(c.text, true)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s %q: got %v, want %v", c.model, c.pre, c.text, got, c.want)
		}
		if c.back == "" {
			c.back = c.text
		}
		if back := tok.Decode(got, false); back != c.back {
			t.Errorf("%s: %q came back as %q", c.model, c.text, back)
		}
	}
}

// TestRanksOfKimi reads a vocabulary without merges, whose ids are their ranks.
func TestRanksOfKimi(t *testing.T) {
	v := tinyVocab()
	v.Pre, v.Merges = "kimi-k2", nil
	tok, err := FromVocab(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("abb<end>", false); !slices.Equal(got, []int32{256, 'b', 257}) {
		t.Errorf("got %v", got)
	}
	v.Tokens[256] = strings.Repeat("a", maxRankedToken+1)
	if _, err = FromVocab(v); err == nil || !strings.Contains(err.Error(), "tokenizer.ggml.tokens[256]") {
		t.Errorf("a long token: %v", err)
	}
}
