package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/text/token"
)

// setText writes the tokenizer, the chat template and the stop tokens. rows is
// the number of rows of the embedding table: other programs expect a token for
// each, so rows unknown to the tokenizer get padding tokens.
func (j *job) setText(t *text.Text, rows int) error {
	source, err := text.TemplateSource(j.d)
	if err != nil {
		return err
	}
	if t.Tokenizer == nil {
		j.meta.Set("tokenizer.ggml.model", file.ValueOf("no_vocab"))
		j.warn("the model has no tokenizer.json and no other vocabulary: the file has token ids only")
		return nil
	}
	v, err := t.Tokenizer.ToGGUF()
	whole := err != nil
	if whole {
		if _, ok := errors.AsType[*token.InexpressibleError](err); !ok {
			return err
		}
	}
	special, moved := j.specials(t, &v, source)
	if moved != "" {
		whole, err = true, fmt.Errorf("its %s is not the token that it puts around texts", moved)
	}
	if whole {
		const most = 200 // the reason may quote tables
		j.warn("the tokenizer is kept whole as %s, which few other programs read: %.*s", j.wholeKey(), most, err.Error())
	}
	j.setVocab(&v, rows)
	for _, s := range special {
		j.meta.Set(text.SpecialKey(s.name), file.ValueOf(uint32(s.id)))
	}
	if source != "" {
		j.meta.Set("tokenizer.chat_template", file.ValueOf(source))
	}
	if whole {
		j.setWhole()
	}
	return j.setStops(t)
}

// wholeKey returns the key that holds the file of the tokenizer.
func (j *job) wholeKey() string {
	if _, ok := j.d.Files["tokenizer.json"]; ok {
		return text.KeyTokenizer
	}
	return text.KeyModel
}

// setWhole writes the files that the tokenizer was read from.
func (j *job) setWhole() {
	if b, ok := j.d.Files["tokenizer.json"]; ok {
		j.meta.Set(text.KeyTokenizer, file.ValueOf(string(b)))
		return
	}
	name := text.Vocabulary(j.d.Files)
	j.meta.Set(text.KeyModelName, file.ValueOf(name))
	j.meta.Set(text.KeyModel, file.ArrayOf(j.d.Files[name]))
	for _, f := range [][2]string{{text.KeyConfig, "tokenizer_config.json"}, {text.KeyAdded, "added_tokens.json"}} {
		if b, ok := j.d.Files[f[1]]; ok {
			j.meta.Set(f[0], file.ValueOf(string(b)))
		}
	}
}

// A special is a token with a role.
type special struct {
	name string // as in the template's variables, without "_token"
	id   int32
}

// specials finds the ids of the tokens with roles. moved names a role that the
// configuration gives to another token than the one the tokenizer puts around
// texts; the format has only one key for both.
func (j *job) specials(t *text.Text, v *token.Vocab, template string) (out []special, moved string) {
	frame := map[string]int32{}
	for name, id := range v.Special {
		switch name {
		case "unknown":
			name = "unk"
		case "seperator": // the format's spelling
			name = "sep"
		}
		frame[name] = id
	}
	for _, name := range []string{"bos", "eos", "unk", "sep", "pad", "cls", "mask"} {
		id, framed := frame[name]
		if said, ok := t.Tokenizer.ID(t.Vars[name+"_token"]); ok && t.Vars[name+"_token"] != "" {
			if framed && said != id {
				moved = name + "_token"
			}
			id, framed = said, true
		}
		if name == "eos" && !framed && len(t.Stop) > 0 { // without the key, other programs assume an id
			id, framed = t.Stop[0], true
		}
		if framed {
			out = append(out, special{name, id})
		}
	}
	// The end of a turn, if it is another token than the end of a text.
	for _, id := range t.Stop {
		s, _ := t.Tokenizer.Token(id)
		if s != "" && strings.Contains(template, s) && !slices.Contains(out, special{"eos", id}) {
			return append(out, special{"eot", id}), moved
		}
	}
	return out, moved
}

// setVocab writes the tokenizer.ggml.* keys except those of single tokens.
func (j *job) setVocab(v *token.Vocab, rows int) {
	const pre = "tokenizer.ggml."
	set := j.meta.Set
	if v.Model == "" { // only the whole tokenizer is written
		set(pre+"model", file.ValueOf("no_vocab"))
		return
	}
	if n := len(v.Tokens); n > rows {
		j.warn("the tokenizer has %d tokens and the embedding table %d rows: other programs may refuse the file", n, rows)
	}
	tokens, types, scores := slices.Clone(v.Tokens), slices.Clone(v.Types), slices.Clone(v.Scores)
	for id := len(tokens); id < rows; id++ {
		tokens, types = append(tokens, text.Padding(id)), append(types, token.TypeUnused)
	}
	if len(scores) > 0 { // the lowest, so that they are never preferred
		scores = append(scores, slices.Repeat([]float32{slices.Min(scores)}, len(tokens)-len(scores))...)
	}
	set(pre+"model", file.ValueOf(v.Model))
	set(pre+"pre", file.ValueOf(v.Pre))
	set(pre+"tokens", file.ArrayOf(tokens))
	if len(scores) > 0 {
		set(pre+"scores", file.ArrayOf(scores))
	}
	set(pre+"token_type", file.ArrayOf(types))
	if v.Merges != nil {
		set(pre+"merges", file.ArrayOf(v.Merges))
	}
	for _, f := range []struct {
		key string
		v   *bool
	}{{"add_bos_token", v.AddBOS}, {"add_eos_token", v.AddEOS}, {"add_space_prefix", v.AddSpacePrefix}} {
		if f.v != nil {
			set(pre+f.key, file.ValueOf(*f.v))
		}
	}
	if v.RemoveExtraWhitespaces {
		set(pre+"remove_extra_whitespaces", file.ValueOf(true))
	}
	if len(v.PrecompiledCharsmap) > 0 {
		set(pre+"precompiled_charsmap", file.ArrayOf(v.PrecompiledCharsmap))
	}
}

// setStops reads the keys back, and writes the list of stop tokens if they would
// differ.
func (j *job) setStops(t *text.Text) error {
	back, err := text.Load(&file.Description{Path: j.d.Path, Format: file.GGUF, Meta: j.meta})
	if err != nil && !text.Partial(err) {
		return fmt.Errorf("reading the tokenizer back: %w", err)
	}
	if !slices.Equal(back.Stop, t.Stop) {
		j.meta.Set(text.KeyStops, file.ArrayOf(t.Stop))
	}
	return nil
}
