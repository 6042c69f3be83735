package token

// Writing tokenizer.json as huggingface/tokenizers 0.22 does: its order of
// fields, two spaces of indentation.

import (
	"bytes"
	"encoding/json"
)

type (
	added struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		LStrip     bool   `json:"lstrip"`
		RStrip     bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
		Special    bool   `json:"special"`
	}
	byteLevel struct {
		Type        string `json:"type"`
		PrefixSpace bool   `json:"add_prefix_space"`
		TrimOffsets bool   `json:"trim_offsets"`
		UseRegex    bool   `json:"use_regex"`
	}
	patternRegex struct {
		Regex string
	}
	split struct {
		Type     string       `json:"type"`
		Pattern  patternRegex `json:"pattern"`
		Behavior string       `json:"behavior"`
		Invert   bool         `json:"invert"`
	}
	sequence struct {
		Type   string `json:"type"`
		Stages []any  `json:"pretokenizers"`
	}
	fusePair struct {
		Type string `json:"type"`
	}
	place struct {
		ID   string `json:"id"`
		Type int    `json:"type_id"`
	}
	special struct {
		ID     string   `json:"id"`
		IDs    []int    `json:"ids"`
		Tokens []string `json:"tokens"`
	}
	tokenizerTemplate struct {
		Type    string             `json:"type"`
		Single  []map[string]place `json:"single"`
		Pair    []map[string]place `json:"pair"`
		Special map[string]special `json:"special_tokens"`
	}
	model struct {
		Type         string      `json:"type"`
		Dropout      *float64    `json:"dropout"`
		Unknown      *string     `json:"unk_token"`
		Prefix       *string     `json:"continuing_subword_prefix"`
		Suffix       *string     `json:"end_of_word_suffix"`
		FuseUnknown  bool        `json:"fuse_unk"`
		ByteFallback bool        `json:"byte_fallback"`
		IgnoreMerges bool        `json:"ignore_merges"`
		Vocab        vocabulary  `json:"vocab"`
		Merges       [][2]string `json:"merges"`
	}
	file struct {
		Version    string  `json:"version"`
		Truncation *int    `json:"truncation"`
		Padding    *int    `json:"padding"`
		Added      []added `json:"added_tokens"`
		Normalizer *int    `json:"normalizer"`
		Cutter     any     `json:"pre_tokenizer"`
		Post       any     `json:"post_processor"`
		Decoder    any     `json:"decoder"`
		Model      model   `json:"model"`
	}
)

// A vocabulary is written as an object in the order of ids.
type vocabulary []string

// MarshalJSON implements [json.Marshaler].
func (v vocabulary) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for id, s := range v {
		if id > 0 {
			b.WriteByte(',')
		}
		if err := appendJSON(&b, s); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := appendJSON(&b, id); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// appendJSON writes a value without HTML escaping.
func appendJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line end
	return nil
}

// JSON returns the vocabulary as a tokenizer.json.
func (v *Vocabulary) JSON() ([]byte, error) {
	f := file{Version: "1.0", Added: []added{}}
	for id, s := range v.cfg.Special {
		f.Added = append(f.Added, added{ID: id, Content: s, Special: true})
	}
	f.Model = model{Type: "BPE", Vocab: v.Tokens, Merges: [][2]string{}}
	if v.cfg.Characters {
		unknown := unknownPiece
		f.Model.Unknown = &unknown
		f.Decoder = fusePair{"Fuse"}
	} else {
		f.Cutter = v.cfg.cutter()
		f.Post = byteLevel{"ByteLevel", true, false, true}
		f.Decoder = byteLevel{"ByteLevel", true, true, true}
	}
	if v.cfg.BOS != "" {
		f.Post = v.cfg.begin()
	}
	for _, m := range v.Merges {
		f.Model.Merges = append(f.Model.Merges, [2]string{v.Tokens[m[0]], v.Tokens[m[1]]})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(f)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// cutter returns the pre-tokenizers.
func (c *VocabularyConfig) cutter() any {
	if c.Pattern == gpt2 {
		return byteLevel{"ByteLevel", false, true, true}
	}
	return sequence{"Sequence", []any{
		split{"Split", patternRegex{expressions[c.Pattern]}, "Isolated", false},
		byteLevel{"ByteLevel", false, true, false},
	}}
}

// begin returns the template that puts the first token before every text.
func (c *VocabularyConfig) begin() tokenizerTemplate {
	id := 0
	for c.Special[id] != c.BOS {
		id++
	}
	bos := func(kind int) map[string]place { return map[string]place{"SpecialToken": {c.BOS, kind}} }
	text := func(s string, kind int) map[string]place { return map[string]place{"Sequence": {s, kind}} }
	return tokenizerTemplate{
		Type:    "TemplateProcessing",
		Single:  []map[string]place{bos(0), text("A", 0)},
		Pair:    []map[string]place{bos(0), text("A", 0), bos(1), text("B", 1)},
		Special: map[string]special{c.BOS: {c.BOS, []int{id}, []string{c.BOS}}},
	}
}
