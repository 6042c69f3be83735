package text

import (
	"fmt"
	"maps"

	"atenia/internal/model/file"
	"atenia/internal/sample"
	"atenia/internal/text/token"
)

// Keys that package convert writes only if the standard ones do not suffice. The
// first is in the GGUF specification, the others are our own.
const (
	KeyTokenizer = "tokenizer.huggingface.json"   // the whole tokenizer.json; overrides tokenizer.ggml.*
	KeyModel     = "tokenizer.atenia.model"       // the vocabulary file of a folder without tokenizer.json; overrides tokenizer.ggml.*
	KeyModelName = "tokenizer.atenia.model_name"  // … its name
	KeyConfig    = "tokenizer.atenia.config"      // … and the folder's tokenizer_config.json
	KeyAdded     = "tokenizer.atenia.added"       // … and added_tokens.json
	KeyStops     = "tokenizer.atenia.stop_tokens" // the complete list of stop tokens
	KeyTypical   = "general.sampling.typical_p"
)

// specials maps the names of special tokens to their GGUF keys.
var specials = map[string]string{
	"bos": "bos_token_id", "eos": "eos_token_id", "unk": "unknown_token_id", "sep": "seperator_token_id",
	"pad": "padding_token_id", "cls": "cls_token_id", "mask": "mask_token_id", "eot": "eot_token_id", "eom": "eom_token_id",
}

// SpecialKey returns the key for the id of a special token: "bos", "eot".
func SpecialKey(name string) string { return "tokenizer.ggml." + specials[name] }

// Padding returns the name of a token for a row of the embedding table that the
// tokenizer does not know. Converters write it because readers expect a token
// for every row.
func Padding(id int) string { return fmt.Sprintf("[PAD%d]", id) }

// unpad drops the padding tokens at the end, because they must not be recognized
// in text.
func unpad(v *token.Vocab) {
	n := len(v.Tokens)
	if len(v.Types) != n {
		return // rejected later
	}
	end := n
	for end > 0 && v.Types[end-1] == token.TypeUnused && v.Tokens[end-1] == Padding(end-1) {
		end--
	}
	v.Tokens, v.Types = v.Tokens[:end], v.Types[:end]
	if len(v.Scores) == n {
		v.Scores = v.Scores[:end]
	}
}

// TemplateSource returns the source of a model's chat template, "" if it has
// none.
func TemplateSource(d *file.Description) (string, error) {
	if d.Format == file.GGUF {
		s, _, err := d.Meta.String("tokenizer.chat_template")
		return s, err
	}
	var tc tokenizerConfig
	if err := decode(d, "tokenizer_config.json", &tc); err != nil {
		return "", err
	}
	return templateSource(d, tc.ChatTemplate)
}

// fromGGUF reads the tokenizer.ggml.* keys. (The separator's key is misspelt in
// the format.)
func fromGGUF(d *file.Description) (*Text, error) {
	t := &Text{Sampling: Usual, Vars: map[string]string{}}
	r := &keyReader{m: d.Meta}
	v := token.Vocab{
		Model:               r.text("tokenizer.ggml.model"),
		Pre:                 r.text("tokenizer.ggml.pre"),
		Tokens:              r.texts("tokenizer.ggml.tokens"),
		Scores:              r.floats("tokenizer.ggml.scores"),
		Types:               r.ints("tokenizer.ggml.token_type"),
		Merges:              r.texts("tokenizer.ggml.merges"),
		Special:             map[string]int32{},
		AddBOS:              r.flag("tokenizer.ggml.add_bos_token"),
		AddEOS:              r.flag("tokenizer.ggml.add_eos_token"),
		AddSpacePrefix:      r.flag("tokenizer.ggml.add_space_prefix"),
		PrecompiledCharsmap: r.bytes("tokenizer.ggml.precompiled_charsmap"),
	}
	if f := r.flag("tokenizer.ggml.remove_extra_whitespaces"); f != nil {
		v.RemoveExtraWhitespaces = *f
	}
	ids := map[string]int32{}
	for name, key := range specials {
		if id, ok := r.id("tokenizer.ggml." + key); ok {
			ids[name] = id
		}
	}
	model := map[string][]byte{}
	name := r.text(KeyModelName)
	if name != "" {
		model[name] = r.bytes(KeyModel)
	}
	for file, key := range map[string]string{"tokenizer_config.json": KeyConfig, "added_tokens.json": KeyAdded} {
		if s := r.text(key); s != "" {
			model[file] = []byte(s)
		}
	}
	whole, source, exact := r.text(KeyTokenizer), r.text("tokenizer.chat_template"), r.ints(KeyStops)
	t.Sampling = r.sampling()
	if r.err != nil {
		return nil, r.err
	}
	var err error
	switch {
	case whole != "":
		if t.Tokenizer, err = token.Load([]byte(whole)); err != nil {
			return nil, fmt.Errorf("%s: %w", KeyTokenizer, err)
		}
	case name != "":
		if t.Tokenizer, err = fromFiles(name, model); err != nil {
			return nil, fmt.Errorf("%s: %w", KeyModel, err)
		}
	case v.Model == "" || v.Model == "no_vocab":
		return t, &absentError{"tokenizer", "tokenizer.ggml.model"}
	default:
		unpad(&v)
		maps.Copy(v.Special, ids)
		if t.Tokenizer, err = token.FromVocab(v); err != nil {
			return nil, fmt.Errorf("tokenizer of the GGUF file: %w", err)
		}
	}
	var named []int32
	for name, id := range ids {
		if text, ok := t.Tokenizer.Token(id); ok {
			t.Vars[name+"_token"] = text
		}
		if name == "eos" || name == "eot" || name == "eom" {
			named = append(named, id)
		}
	}
	t.BOS = t.Vars["bos_token"]
	t.Stop = stops(t.Tokenizer, named)
	if len(exact) > 0 {
		t.Stop = exact
	}
	return t, t.template("tokenizer.chat_template", source)
}

// fromFiles reads a tokenizer from files that were in a folder.
func fromFiles(name string, files map[string][]byte) (*token.Tokenizer, error) {
	var tc tokenizerConfig
	if err := decode(&file.Description{Files: files}, "tokenizer_config.json", &tc); err != nil {
		return nil, err
	}
	return tc.load(name, files)
}

// A keyReader reads optional keys and keeps the first error.
type keyReader struct {
	m   file.Metadata
	err error
}

func read[T any](r *keyReader, v T, _ bool, err error) T {
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func (r *keyReader) text(key string) string {
	v, ok, err := r.m.String(key)
	return read(r, v, ok, err)
}

func (r *keyReader) texts(key string) []string {
	v, ok, err := r.m.Strings(key)
	return read(r, v, ok, err)
}

func (r *keyReader) bytes(key string) []byte {
	v, ok, err := r.m.Bytes(key)
	return read(r, v, ok, err)
}

func (r *keyReader) floats(key string) []float32 {
	v, ok, err := r.m.Floats(key)
	out := make([]float32, len(v))
	for i, f := range v {
		out[i] = float32(f)
	}
	return read(r, out, ok, err)
}

func (r *keyReader) ints(key string) []int32 {
	v, ok, err := r.m.Ints(key)
	out := make([]int32, len(v))
	for i, n := range v {
		out[i] = int32(n)
	}
	return read(r, out, ok, err)
}

func (r *keyReader) flag(key string) *bool {
	v, ok, err := r.m.Bool(key)
	if read(r, v, ok, err); !ok || err != nil {
		return nil
	}
	return &v
}

func (r *keyReader) id(key string) (int32, bool) {
	v, ok, err := r.m.Uint(key)
	read(r, v, ok, err)
	return int32(v), ok && err == nil && v < 1<<31
}

func (r *keyReader) number(key string) *float32 {
	v, ok, err := r.m.Float(key)
	if read(r, v, ok, err); !ok || err != nil {
		return nil
	}
	f := float32(v)
	return &f
}

// sampling reads the general.sampling.* keys.
func (r *keyReader) sampling() sample.Params {
	g := generationConfig{
		Temperature: r.number("general.sampling.temp"),
		TopP:        r.number("general.sampling.top_p"),
		MinP:        r.number("general.sampling.min_p"),
		TopK:        r.number("general.sampling.top_k"),
		Typical:     r.number(KeyTypical),
		Repeat:      r.number("general.sampling.penalty_repeat"),
	}
	return g.sampling()
}
