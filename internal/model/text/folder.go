package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/sample"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/internal/text/token"
)

// The bytes that files of a folder may have, as package file reads them.
const (
	MostVocabulary = file.MostVocabulary
	MostSettings   = file.MostSettings
)

// A tokenText is a token in a configuration: its text, or an object containing
// it.
type tokenText string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *tokenText) UnmarshalJSON(b []byte) error {
	var s *string
	if json.Unmarshal(b, &s) == nil {
		if s != nil {
			*t = tokenText(*s)
		}
		return nil
	}
	var o struct{ Content string }
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*t = tokenText(o.Content)
	return nil
}

// A oneOrMore is a number or a list of numbers.
type oneOrMore []int32

// UnmarshalJSON implements [json.Unmarshaler].
func (o *oneOrMore) UnmarshalJSON(b []byte) error {
	var one *int32
	if json.Unmarshal(b, &one) == nil {
		if one != nil {
			*o = oneOrMore{*one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]int32)(o))
}

// tokenizerConfig is the part of tokenizer_config.json that is used.
type tokenizerConfig struct {
	ChatTemplate json.RawMessage `json:"chat_template"`
	BOS          tokenText       `json:"bos_token"`
	EOS          tokenText       `json:"eos_token"`
	UNK          tokenText       `json:"unk_token"`
	PAD          tokenText       `json:"pad_token"`

	// For vocabularies without a tokenizer.json: see companion.go.
	Class   string                      `json:"tokenizer_class"`
	AddBOS  *bool                       `json:"add_bos_token"`
	AddEOS  *bool                       `json:"add_eos_token"`
	Legacy  *bool                       `json:"legacy"`
	Decoder map[string]token.AddedToken `json:"added_tokens_decoder"`
}

// generationConfig is the part of generation_config.json and config.json that is
// used.
type generationConfig struct {
	EOS         oneOrMore `json:"eos_token_id"`
	DoSample    *bool     `json:"do_sample"`
	Temperature *float32  `json:"temperature"`
	TopK        *float32  `json:"top_k"` // some files have 50.0
	TopP        *float32  `json:"top_p"`
	MinP        *float32  `json:"min_p"`
	Typical     *float32  `json:"typical_p"`
	Repeat      *float32  `json:"repetition_penalty"`
}

func fromFolder(d *file.Description) (*Text, error) {
	t := &Text{Sampling: Usual, Vars: map[string]string{}}
	var tc tokenizerConfig
	err := decode(d, "tokenizer_config.json", &tc)
	if err != nil {
		return nil, err
	}
	_, ok := d.Files["tokenizer.json"]
	if ok {
		err = d.ReadVocabularies("tokenizer.json") // the others say the same
	} else {
		err = d.ReadVocabularies()
	}
	if err != nil {
		return nil, err
	}
	data := d.Files["tokenizer.json"]
	switch name := Vocabulary(d.Files); {
	case ok:
		if t.Tokenizer, err = token.Load(data); err != nil {
			return nil, fmt.Errorf("tokenizer.json: %w", err)
		}
	case name != "":
		if t.Tokenizer, err = tc.load(name, d.Files); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		tc.complete(t.Tokenizer)
	default:
		return t, &absentError{"tokenizer", "tokenizer.json, tokenizer.model, *.tiktoken and rwkv_vocab*.txt"}
	}
	for name, text := range map[string]tokenText{"bos_token": tc.BOS, "eos_token": tc.EOS, "unk_token": tc.UNK, "pad_token": tc.PAD} {
		if text != "" {
			t.Vars[name] = string(text)
		}
	}
	t.BOS = string(tc.BOS)
	var gen generationConfig
	if err := decode(d, "generation_config.json", &gen); err != nil {
		return nil, err
	}
	t.Sampling = gen.sampling()
	named := gen.EOS
	var conf generationConfig
	if file.Unmarshal(d.Config, &conf) == nil { // config.json may contain bare Infinity and the like; the other files suffice
		named = append(named, conf.EOS...)
	}
	if id, ok := t.Tokenizer.ID(string(tc.EOS)); ok && tc.EOS != "" {
		named = append(named, id)
	}
	t.Stop = stops(t.Tokenizer, named)
	source, err := templateSource(d, tc.ChatTemplate)
	if err != nil {
		return nil, err
	}
	return t, t.template("chat_template", source)
}

// templateSource returns the chat template of a folder, from its possible places
// in order of precedence.
func templateSource(d *file.Description, inConfig json.RawMessage) (string, error) {
	if b, ok := d.Files["chat_template.jinja"]; ok {
		return string(b), nil
	}
	if b, ok := d.Files["chat_template.json"]; ok {
		var f struct {
			ChatTemplate string `json:"chat_template"`
		}
		if err := file.Unmarshal(b, &f); err != nil {
			return "", fmt.Errorf("chat_template.json: %w", err)
		}
		return f.ChatTemplate, nil
	}
	if len(inConfig) == 0 || string(inConfig) == "null" {
		return "", nil
	}
	var one string
	if json.Unmarshal(inConfig, &one) == nil {
		return one, nil
	}
	var named []struct{ Name, Template string }
	if err := json.Unmarshal(inConfig, &named); err != nil {
		return "", fmt.Errorf("tokenizer_config.json: chat_template: %w", err)
	}
	for _, n := range named {
		if n.Name == "default" {
			return n.Template, nil
		}
	}
	return "", nil
}

// decode reads a small JSON file of the folder; v is unchanged if there is no
// such file.
func decode(d *file.Description, name string, v any) error {
	b, ok := d.Files[name]
	if !ok {
		return nil
	}
	if err := file.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// sampling converts a recommendation to parameters. Without one it returns the
// usual parameters; do_sample false means greedy.
func (g *generationConfig) sampling() sample.Params {
	p := Usual
	if g.DoSample != nil && !*g.DoSample {
		return sample.Params{}
	}
	if g.Temperature == nil && g.TopK == nil && g.TopP == nil {
		return p
	}
	p = sample.Params{Temperature: 1}
	set(&p.Temperature, g.Temperature)
	if g.TopK != nil {
		p.TopK = int(*g.TopK)
	}
	set(&p.TopP, g.TopP)
	set(&p.MinP, g.MinP)
	set(&p.Typical, g.Typical)
	set(&p.RepeatPenalty, g.Repeat)
	return p
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// IsVocabulary reports whether a path names a file that [LoadFile] reads.
func IsVocabulary(path string) bool {
	switch filepath.Ext(path) {
	case ".json", ".model", ".tiktoken":
		return true
	}
	return false
}

// LoadFile reads a tokenizer without a model: a tokenizer.json, or a vocabulary of
// SentencePiece or tiktoken with the configuration beside it.
func LoadFile(path string) (*token.Tokenizer, error) {
	data, err := durable.ReadRegular(path, MostVocabulary)
	if err != nil {
		return nil, err
	}
	var t *token.Tokenizer
	if filepath.Ext(path) == ".json" {
		if data, err = spelling.Narrow(data); err == nil {
			t, err = token.Load(data)
		}
	} else {
		name := filepath.Base(path)
		files := map[string][]byte{name: data}
		for _, beside := range []string{"tokenizer_config.json", "added_tokens.json"} {
			switch b, err := durable.ReadRegular(filepath.Join(filepath.Dir(path), beside), MostSettings); {
			case err == nil:
				files[beside] = b
			case !errors.Is(err, fs.ErrNotExist):
				return nil, err
			}
		}
		t, err = fromFiles(name, files)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Files returns the files about text, among the other small ones, that a model's
// folder has, those of its modules with their folder: "1_Pooling/config.json".
func Files(dir string) (out map[string][]byte, err error) {
	d, err := file.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.ReadVocabularies(); err != nil {
		return nil, err
	}
	out = map[string][]byte{}
	for name, b := range d.Files {
		if name != "model.safetensors.index.json" {
			out[name] = slices.Clone(b)
		}
	}
	return out, nil
}

// LoadFiles is [Load] for the files of a folder that is not written yet, and its
// config.json.
func LoadFiles(dir string, config []byte, files map[string][]byte) (*Text, error) {
	return Load(&file.Description{Path: dir, Format: file.HuggingFace, Config: config, Files: files})
}
