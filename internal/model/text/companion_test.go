package text

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/text/token"
)

// folderOf returns a description of a folder with the named vocabulary.
func folderOf(t *testing.T, name, config string) *file.Description {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(golden.Family(t, "vocabfiles"), name))
	if err != nil {
		t.Skip(err) // not in this set
	}
	if strings.HasPrefix(name, "bpe_") {
		name = "tokenizer.model"
	}
	return &file.Description{Format: file.HuggingFace, Files: map[string][]byte{name: data, "tokenizer_config.json": []byte(config)}}
}

// TestGoldenTiktoken compares lists of tiktoken, read as a class of tokenizers
// reads them, with tiktoken itself.
func TestGoldenTiktoken(t *testing.T) {
	dir := golden.Family(t, "vocabfiles")
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	checked := 0
	for _, path := range files {
		var ref struct {
			File, Class string
			Texts       []string
			IDs         [][]int32
			Decoded     []string
		}
		if golden.JSON(t, path, &ref); ref.File == "" {
			continue
		}
		checked++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			got, err := Load(folderOf(t, ref.File, `{"tokenizer_class": "`+ref.Class+`", "eos_token": "<|endoftext|>"}`))
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range ref.Texts {
				if ids := got.Tokenizer.Encode(s, true); !slices.Equal(ids, ref.IDs[i]) {
					t.Errorf("%q:\n got %v\nwant %v", s, ids, ref.IDs[i])
				}
				if back := got.Tokenizer.Decode(ref.IDs[i], false); back != ref.Decoded[i] {
					t.Errorf("%v decodes to %q, want %q", ref.IDs[i], back, ref.Decoded[i])
				}
			}
		})
	}
	if checked == 0 {
		t.Error("no lists")
	}
}

// TestPrograms: what the class of tokenizers adds to a vocabulary.
func TestPrograms(t *testing.T) {
	ids := func(name, config, text string) []string {
		t.Helper()
		d := folderOf(t, name, config)
		txt, err := Load(d)
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		var out []string
		for _, id := range txt.Tokenizer.Encode(text, true) {
			s, _ := txt.Tokenizer.Token(id)
			out = append(out, s)
		}
		return out
	}
	for _, c := range []struct{ config, text, want string }{
		{`{"tokenizer_class": "LlamaTokenizer"}`, "the fox", "<s> ▁the ▁fox"},
		{`{"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": false, "add_eos_token": true}`, "the", "▁the </s>"},
		{`{"tokenizer_class": "T5Tokenizer"}`, "the", "▁the </s>"},
		{`{"tokenizer_class": "LlamaTokenizer"}`, "the</s>the", "<s> ▁the </s> ▁the"},
		{`{"tokenizer_class": "LlamaTokenizer", "legacy": false}`, "the</s>fox", "<s> ▁the </s> fox"},
		{`{"tokenizer_class": "X", "added_tokens_decoder": {"460": {"content": "<x>", "special": true, "lstrip": true}}}`, "the  <x>fox", "▁the <x> ▁fox"},
		{`{"tokenizer_class": "X", "add_bos_token": true, "bos_token": {"content": "</s>"}}`, "the", "</s> ▁the"},
	} {
		if got := strings.Join(ids("bpe_llama.model", c.config, c.text), " "); got != c.want {
			t.Errorf("%s: %q: got %s, want %s", c.config, c.text, got, c.want)
		}
	}
}

// TestNoProgram: a list of tiktoken alone does not say how text is split.
func TestNoProgram(t *testing.T) {
	d := folderOf(t, "qwen.tiktoken", `{"tokenizer_class": "OurTokenizer"}`)
	d.Files["our.tiktoken"] = d.Files["qwen.tiktoken"]
	delete(d.Files, "qwen.tiktoken")
	_, err := Load(d)
	if err == nil || !strings.Contains(err.Error(), `our.tiktoken: tokenizer: tokenizer_class: unknown program`) || !strings.Contains(err.Error(), "OurTokenizer") {
		t.Error(err)
	}
	if _, ok := err.(*token.UnknownError); ok {
		t.Error("the file is not named")
	}
}

// TestLoadFile reads vocabularies without a model, with the configuration beside
// them.
func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	d := folderOf(t, "bpe_llama.model", `{"tokenizer_class": "LlamaTokenizer"}`)
	for name, data := range d.Files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := LoadFile(filepath.Join(dir, "tokenizer.model"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("the", true), tok.Encode("the", false); len(got) != len(want)+1 {
		t.Errorf("got %v, without the configuration %v", got, want)
	}
	if !IsVocabulary("a/b.tiktoken") || IsVocabulary("a/b.gguf") {
		t.Error("IsVocabulary")
	}
}

// TestRWKVFolder reads the list that RWKV publishes, with the name of token 0.
func TestRWKVFolder(t *testing.T) {
	got, err := Load(&file.Description{Format: file.HuggingFace, Files: map[string][]byte{
		"rwkv_vocab_v20230424.txt": []byte("1 'a' 1\n2 'ab' 2\n"),
		"tokenizer_config.json":    []byte(`{"tokenizer_class": "RwkvTokenizer", "eos_token": "<|end|>", "added_tokens_decoder": {"0": {"content": "<|end|>", "special": true}}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if ids := got.Tokenizer.Encode("aab<|end|>", true); !slices.Equal(ids, []int32{1, 2, 0}) || !slices.Equal(got.Stop, []int32{0}) {
		t.Errorf("ids %v, stop tokens %v", ids, got.Stop)
	}
	if !got.Tokenizer.IsSpecial(0) || got.Tokenizer.IsSpecial(1) {
		t.Error("only token 0 is special")
	}
}
