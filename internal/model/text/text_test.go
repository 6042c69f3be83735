package text

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/sample"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// tokenizerJSON returns a small tokenizer with a few added tokens.
func tokenizerJSON(t testing.TB, kind string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Root(t), "testdata", "golden", "tokenizers", kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// folder describes a Hugging Face folder with these files.
func folder(config string, files map[string]string) *file.Description {
	d := &file.Description{Format: file.HuggingFace, Config: []byte(config), Files: map[string][]byte{}}
	for name, text := range files {
		d.Files[name] = []byte(text)
	}
	return d
}

// TestTemplatePlaces: the newest place for a chat template wins.
func TestTemplatePlaces(t *testing.T) {
	all := map[string]string{
		"chat_template.jinja":   "jinja",
		"chat_template.json":    `{"chat_template": "json"}`,
		"tokenizer_config.json": `{"chat_template": "config"}`,
	}
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"chat_template.jinja", "chat_template.json", "tokenizer_config.json"}, "jinja"},
		{[]string{"chat_template.json", "tokenizer_config.json"}, "json"},
		{[]string{"tokenizer_config.json"}, "config"},
		{nil, ""},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = all[f]
		}
		if got, err := TemplateSource(folder("{}", files)); err != nil || got != c.want {
			t.Errorf("%v: %q, want %q (%v)", c.files, got, c.want, err)
		}
	}
	for config, want := range map[string]string{
		`{"chat_template": [{"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"}]}`: "b",
		`{"chat_template": [{"name": "tool_use", "template": "a"}]}`:                                       "",
		`{"chat_template": null}`: "",
	} {
		if got, err := TemplateSource(folder("{}", map[string]string{"tokenizer_config.json": config})); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", config, got, want, err)
		}
	}
}

// TestSampling reads the recommended sampling parameters of models.
func TestSampling(t *testing.T) {
	for config, want := range map[string]sample.Params{
		`{}`: Usual,
		`{"do_sample": false, "temperature": 0.6}`:                                                   {},
		`{"do_sample": true}`:                                                                        Usual,
		`{"do_sample": true, "temperature": 0.6, "top_p": 0.9}`:                                      {Temperature: 0.6, TopP: 0.9},
		`{"TEMPERATURE": 0.6, "Top_P": 0.9}`:                                                         Usual, // no other program reads these
		`{"temperature": 0.6, "Temperature": 9}`:                                                     {Temperature: 0.6},
		`{"temperature": null, "top_k": 20}`:                                                         {Temperature: 1, TopK: 20},
		`{"top_k": 64.0, "top_p": 0.95, "min_p": 0.1, "typical_p": 0.9, "repetition_penalty": 1.05}`: {Temperature: 1, TopK: 64, TopP: 0.95, MinP: 0.1, Typical: 0.9, RepeatPenalty: 1.05},
	} {
		x, err := Load(folder("{}", map[string]string{"tokenizer.json": string(tokenizerJSON(t, "qwen2")), "generation_config.json": config}))
		if err != nil || !reflect.DeepEqual(x.Sampling, want) {
			t.Errorf("%s: %+v, want %+v (%v)", config, x.Sampling, want, err)
		}
	}
}

// TestStops collects the tokens that end an answer from every file that names
// one, and the usual ones that the vocabulary marks as special.
func TestStops(t *testing.T) {
	data := tokenizerJSON(t, "qwen2")
	tok, err := token.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	var usual []int32
	for _, e := range endings {
		if id, ok := tok.ID(e); ok && tok.IsSpecial(id) {
			usual = append(usual, id)
		}
	}
	slices.Sort(usual)
	if len(usual) == 0 {
		t.Fatal("the tokenizer has none of the usual endings")
	}
	for _, c := range []struct {
		config, generation, tokenizer string
		want                          []int32
	}{
		{`{}`, `{}`, `{}`, nil},
		{`{"eos_token_id": 5}`, `{}`, `{}`, []int32{5}},
		{`{"eos_token_id": [5, 6]}`, `{"eos_token_id": 7}`, `{}`, []int32{5, 6, 7}},
		{`{"eos_token_id": null}`, `{"eos_token_id": [999999, -1]}`, `{"eos_token": null}`, nil},
		{`{"rope_theta": Infinity}`, `{"eos_token_id": 7}`, `{}`, []int32{7}},
		{`{}`, `{}`, `{"eos_token": {"content": "!", "lstrip": false}}`, []int32{0}},
	} {
		if id, ok := tok.ID("!"); ok && slices.Equal(c.want, []int32{0}) {
			c.want = []int32{id}
		}
		x, err := Load(folder(c.config, map[string]string{
			"tokenizer.json": string(data), "generation_config.json": c.generation, "tokenizer_config.json": c.tokenizer,
		}))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		want := slices.Compact(slices.Sorted(slices.Values(slices.Concat(usual, c.want))))
		if !slices.Equal(x.Stop, want) {
			t.Errorf("%+v: %v, want %v", c, x.Stop, want)
		}
	}
}

// TestVariables: special tokens are variables of the template.

// TestChannelStops: with channels, <|end|> ends a thought, and a call ends an answer.
func TestChannelStops(t *testing.T) {
	for _, c := range []struct {
		tokens []string
		want   []int32
	}{
		{[]string{"<|end|>", "<|call|>", "<|return|>"}, []int32{0, 2}},
		{[]string{"<|end|>", "<|call|>", "<|return|>", "<|channel|>"}, []int32{1, 2}},
	} {
		var added []map[string]any
		for i, text := range c.tokens {
			added = append(added, map[string]any{"id": i, "content": text, "special": true})
		}
		data, err := json.Marshal(map[string]any{"version": "1.0", "added_tokens": added, "model": map[string]any{"type": "BPE", "vocab": map[string]int{}, "merges": []string{}}})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := token.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		if got := stops(tok, []int32{0}); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.tokens, got, c.want)
		}
	}
}

func TestVariables(t *testing.T) {
	x, err := Load(folder("{}", map[string]string{
		"tokenizer.json":        string(tokenizerJSON(t, "qwen2")),
		"tokenizer_config.json": `{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"bos_token": "<s>", "eos_token": "</s>"}; !reflect.DeepEqual(x.Vars, want) || x.BOS != "<s>" {
		t.Errorf("%v, bos %q", x.Vars, x.BOS)
	}
}

// TestErrors distinguishes missing parts, which leave a model usable, from
// damage, whose error names the file.
func TestErrors(t *testing.T) {
	good := string(tokenizerJSON(t, "qwen2"))
	_, err := Load(folder("{}", nil))
	if _, ok := errors.AsType[*absentError](err); !ok || !Partial(err) {
		t.Errorf("no tokenizer: %v", err)
	}
	x, err := Load(folder("{}", map[string]string{"tokenizer.json": good, "chat_template.jinja": "{% for %}"}))
	if _, ok := errors.AsType[*chat.SyntaxError](err); !ok || !Partial(err) || x == nil || x.Tokenizer == nil {
		t.Errorf("a template that cannot be run: %v", err)
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "generation_config.json"} {
		files := map[string]string{"tokenizer.json": good}
		files[name] = `{"a": `
		if _, err := Load(folder("{}", files)); err == nil || Partial(err) || !containsName(err, name) {
			t.Errorf("garbled %s: %v", name, err)
		}
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	empty := &file.Description{Format: file.GGUF}
	if _, err := Load(empty); !Partial(err) {
		t.Errorf("GGUF without a tokenizer: %v", err)
	}
}

func containsName(err error, name string) bool {
	return err != nil && len(err.Error()) > len(name) && err.Error()[:len(name)] == name
}

// TestPadding: rows that only pad the embedding table are no text.
func TestPadding(t *testing.T) {
	v := token.Vocab{Tokens: []string{"a", Padding(1), "b", Padding(3), Padding(4)}, Types: []int32{1, token.TypeUnused, 1, token.TypeUnused, token.TypeUnused}}
	unpad(&v)
	if want := []string{"a", Padding(1), "b"}; !slices.Equal(v.Tokens, want) || len(v.Types) != 3 {
		t.Errorf("%q, want %q", v.Tokens, want)
	}
}

// FuzzFolder reads hostile companions of a good tokenizer.
func FuzzFolder(f *testing.F) {
	tok := tokenizerJSON(f, "llama3")
	f.Add([]byte(`{"eos_token_id": 1}`), []byte(`{"chat_template": "{{ messages }}", "bos_token": "<s>"}`), []byte(`{"eos_token_id": [1, 2], "temperature": 0.5}`))
	f.Add([]byte(`{"eos_token_id": [1e3]}`), []byte(`{"chat_template": [{"name": "default", "template": "x"}]}`), []byte(`{"top_k": 1e30}`))
	f.Add([]byte(``), []byte(`{"chat_template": 5}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, config, tokenizer, generation []byte) {
		d := &file.Description{Format: file.HuggingFace, Config: config, Files: map[string][]byte{
			"tokenizer.json": tok, "tokenizer_config.json": tokenizer, "generation_config.json": generation,
		}}
		x, err := Load(d)
		if err != nil {
			return
		}
		for _, id := range x.Stop {
			if id < 0 || int(id) >= x.Tokenizer.VocabSize() {
				t.Errorf("stop token %d of %d", id, x.Tokenizer.VocabSize())
			}
		}
	})
}
