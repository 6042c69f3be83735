package convert

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
)

// TestTokenizers puts every kind of tokenizer into a GGUF header, padded to a
// larger table, and requires the same ids and texts after reading it back.
func TestTokenizers(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	refs, err := filepath.Glob(filepath.Join(dir, "*.ref.json"))
	if err != nil || len(refs) == 0 {
		t.Fatal(refs, err)
	}
	var texts []string
	golden.JSON(t, filepath.Join(dir, "texts.json"), &texts)
	for _, ref := range refs {
		kind := strings.TrimSuffix(filepath.Base(ref), ".ref.json")
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(dir, kind+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := &file.Description{Format: file.HuggingFace, Files: map[string][]byte{"tokenizer.json": data}}
			want, err := text.Load(d)
			if err != nil {
				t.Fatal(err)
			}
			j := &job{d: d}
			if err := j.setText(want, want.Tokenizer.VocabSize()+7); err != nil {
				t.Fatal(err)
			}
			got, err := text.Load(&file.Description{Format: file.GGUF, Meta: j.meta})
			if err != nil {
				t.Fatal(err)
			}
			if g, w := got.Tokenizer.VocabSize(), want.Tokenizer.VocabSize(); g != w {
				t.Errorf("%d tokens, want %d", g, w)
			}
			if !slices.Equal(got.Stop, want.Stop) {
				t.Errorf("stop tokens %v, want %v", got.Stop, want.Stop)
			}
			for _, s := range texts {
				for _, special := range []bool{false, true} {
					g, w := got.Tokenizer.Encode(s, special), want.Tokenizer.Encode(s, special)
					if !slices.Equal(g, w) {
						t.Errorf("%.60q:\n got %v\nwant %v", s, g, w)
					}
					if g, w := got.Tokenizer.Decode(w, special), want.Tokenizer.Decode(w, special); g != w {
						t.Errorf("%.60q decodes to %.60q, want %.60q", s, g, w)
					}
				}
			}
			_, whole := j.meta.Get(text.KeyTokenizer)
			t.Logf("kept whole: %v; %q", whole, j.report.Warnings)
		})
	}
}

// TestVocabularyFiles is TestTokenizers for folders without tokenizer.json: what
// the standard keys can express is written in them alone, and the rest is kept
// as the vocabulary's own file.
func TestVocabularyFiles(t *testing.T) {
	dir := golden.Family(t, "vocabfiles")
	for _, c := range []struct {
		file, name, config string
		whole              bool
	}{
		{"bpe_llama.model", "tokenizer.model", `{"tokenizer_class": "LlamaTokenizer"}`, false},
		{"bpe_llama.model", "tokenizer.model", `{"tokenizer_class": "LlamaTokenizer", "legacy": false}`, true},
		{"bpe_defined.model", "tokenizer.model", `{}`, true},
		{"unigram_bytes.model", "spiece.model", `{"tokenizer_class": "T5Tokenizer"}`, true},
		{"unigram_bare.model", "sentencepiece.bpe.model", `{"tokenizer_class": "XLMRobertaTokenizer"}`, true},
		{"qwen.tiktoken", "qwen.tiktoken", `{"tokenizer_class": "QWenTokenizer"}`, false},
		{"tiktoken.model", "tiktoken.model", `{"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"341": {"content": "<|im_end|>", "special": true}}}`, false},
	} {
		t.Run(c.file+" "+c.config, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil {
				t.Skip(err) // not in this set
			}
			d := &file.Description{Format: file.HuggingFace, Files: map[string][]byte{c.name: data, "tokenizer_config.json": []byte(c.config)}}
			want, err := text.Load(d)
			if err != nil {
				t.Fatal(err)
			}
			j := &job{d: d}
			if err := j.setText(want, want.Tokenizer.VocabSize()); err != nil {
				t.Fatal(err)
			}
			if _, whole := j.meta.Get(text.KeyModel); whole != c.whole {
				t.Errorf("kept whole: %v; %q", whole, j.report.Warnings)
			}
			got, err := text.Load(&file.Description{Format: file.GGUF, Meta: j.meta})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Stop, want.Stop) {
				t.Errorf("stop tokens %v, want %v", got.Stop, want.Stop)
			}
			for _, s := range []string{"", "  the   fox ", "the</s>\u00a0été <ud>мир!", "e\u0301 漢字<|im_end|>12345 don'T 🚀\r\n\n x"} {
				for _, special := range []bool{false, true} {
					g, w := got.Tokenizer.Encode(s, special), want.Tokenizer.Encode(s, special)
					if !slices.Equal(g, w) {
						t.Errorf("%q:\n got %v\nwant %v", s, g, w)
					}
					if g, w := got.Tokenizer.Decode(w, special), want.Tokenizer.Decode(w, special); g != w {
						t.Errorf("%q decodes to %q, want %q", s, g, w)
					}
				}
			}
		})
	}
}
