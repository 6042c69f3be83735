package token

// GGUF stores a tokenizer as lists: tokens, scores or merges, types, and two
// names that say how to use them. See the keys tokenizer.ggml.* in the GGUF
// specification; the names are defined by llama.cpp.

import (
	"fmt"
	"strings"
)

// A Vocab is the tokenizer part of a GGUF file's metadata. Missing lists are
// nil.
type Vocab struct {
	Model  string    // tokenizer.ggml.model: gpt2, llama, t5, bert, gemma4, rwkv, whitespace
	Pre    string    // tokenizer.ggml.pre: the pre-tokenizer of gpt2
	Tokens []string  // by id
	Scores []float32 // by id: llama, t5
	Types  []int32   // by id: the Type constants
	Merges []string  // "left right", in rank order: gpt2; and llama, if scores alone leave ties

	// Special holds the ids of tokenizer.ggml.*_token_id by short names: bos,
	// eos, unk, sep, pad, cls, mask, eot, eom.
	Special map[string]int32

	AddBOS, AddEOS, AddSpacePrefix *bool // nil: the model's default
	RemoveExtraWhitespaces         bool
	PrecompiledCharsmap            []byte
}

// Values of Vocab.Types, tokenizer.ggml.token_type.
const (
	TypeNormal      = 1
	TypeUnknown     = 2 // matched in text, special
	TypeControl     = 3 // matched in text, special
	TypeUserDefined = 4 // matched in text
	TypeUnused      = 5
	TypeByte        = 6
)

// metaMark is the character SentencePiece writes for a space.
const metaMark = "▁"

// FromVocab makes a tokenizer from a GGUF vocabulary. Errors are [*FormatError]
// and, for unsupported models and pre-tokenizers, [*UnknownError]; paths are
// GGUF keys.
func FromVocab(v Vocab) (*Tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{lex: newLexicon(len(v.Tokens))}
	for id, s := range v.Tokens {
		t.lex.Add(s, int32(id))
	}
	bos, eos := false, false
	var err error
	switch v.Model {
	case "gpt2":
		bos, err = t.fromGPT2(v)
	case "gemma4":
		err = t.fromWholeText(v)
	case "rwkv":
		err = t.fromRWKV(v)
	case "whitespace":
		v.Pre = "whitespace"
		bos, err = t.fromGPT2(v)
	case "llama":
		bos, err = true, t.fromLlama(v)
	case "t5":
		eos, err = true, t.fromT5(v)
	case "bert":
		bos, eos = true, true
		err = t.fromBert(v)
	case "no_vocab", "none", "":
		return nil, &FormatError{Path: "tokenizer.ggml.model", Want: "a tokenizer", Got: clip(v.Model) + ": this file has ids only, no text"}
	default:
		return nil, &UnknownError{"tokenizer.ggml.model", "tokenizer model", v.Model}
	}
	if err != nil {
		return nil, err
	}
	types := v.Types
	if types == nil { // old files: only ids with a role are special
		types = make([]int32, len(v.Tokens))
		for _, id := range v.Special {
			types[id] = TypeControl
		}
	}
	for id, kind := range types {
		if kind == TypeUnknown || kind == TypeControl || kind == TypeUserDefined {
			if s := t.lex.Tokens[id]; s != "" && t.lex.IDs[s] == int32(id) {
				t.added = append(t.added, AddedToken{ID: int32(id), Content: s, Special: kind != TypeUserDefined})
			}
		}
	}
	if v.AddBOS != nil {
		bos = *v.AddBOS
	}
	if v.AddEOS != nil {
		eos = *v.AddEOS
	}
	if t.post, err = v.frame(bos, v.AddBOS != nil, eos, v.AddEOS != nil); err != nil {
		return nil, err
	}
	if err := t.complete(); err != nil {
		return nil, err
	}
	return t, nil
}

// check compares the lengths of the lists, and the ids, with the vocabulary.
func (v *Vocab) check() error {
	n := len(v.Tokens)
	for key, have := range map[string]int{"scores": len(v.Scores), "token_type": len(v.Types)} {
		if have != 0 && have != n {
			return &FormatError{Path: "tokenizer.ggml." + key, Want: fmt.Sprintf("%d values, one for each token", n), Got: fmt.Sprint(have)}
		}
	}
	if needs := v.Model == "llama" && v.Merges == nil || v.Model == "t5"; needs && len(v.Scores) == 0 {
		return &FormatError{Path: "tokenizer.ggml.scores", Want: fmt.Sprintf("%d values", n), Got: "none"}
	}
	for name, id := range v.Special {
		if id < 0 || int(id) >= n {
			return &FormatError{Path: specialKey(name), Want: fmt.Sprintf("an id below %d", n), Got: fmt.Sprint(id)}
		}
	}
	return nil
}

// specialKey returns the GGUF key of a special token; the format spells out some
// names, one of them wrongly.
func specialKey(name string) string {
	if long, ok := map[string]string{"unk": "unknown", "sep": "seperator", "pad": "padding"}[name]; ok {
		name = long
	}
	return "tokenizer.ggml." + name + "_token_id"
}

// id returns the first special token of the given names, or none.
func (v *Vocab) id(names ...string) int32 {
	for _, name := range names {
		if id, ok := v.Special[name]; ok {
			return id
		}
	}
	return none
}

// frame returns the template of one text and of two. A token that only the
// default requests is left out if the file has none.
func (v *Vocab) frame(bos, bosSet, eos, eosSet bool) (postProcessor, error) {
	first, last := v.id("bos"), v.id("eos")
	if v.Model == "bert" {
		first, last = v.id("cls", "bos"), v.id("sep", "eos")
	}
	if bos && first == none && bosSet || eos && last == none && eosSet {
		return nil, &FormatError{Path: "tokenizer.ggml.bos_token_id, eos_token_id", Want: "the tokens that add_bos_token and add_eos_token ask for", Got: "none"}
	}
	around := func(text int, bos bool) (slots []slot) {
		kind := int32(text)
		if bos && first != none {
			slots = append(slots, slot{ids: []int32{first}, types: kind})
		}
		slots = append(slots, slot{text: text, types: kind})
		if eos && last != none {
			slots = append(slots, slot{ids: []int32{last}, types: kind})
		}
		return slots
	}
	return template{around(0, bos), append(around(0, bos), around(1, bos && v.Model != "bert")...)}, nil
}

// fill adds the merges to m. The separating space is never the first character,
// because vocabularies encode spaces differently.
func (v *Vocab) fill(m *bpe) error {
	pairs := make([][]string, len(v.Merges))
	for i, line := range v.Merges {
		if k := strings.IndexByte(line[min(1, len(line)):], ' '); k >= 0 {
			pairs[i] = []string{line[:k+1], line[k+2:]}
		} else {
			pairs[i] = []string{line}
		}
	}
	if err := m.SetMerges(pairs); err != nil {
		return badMerge("tokenizer.ggml.merges", err)
	}
	return nil
}

func (t *Tokenizer) fromGPT2(v Vocab) (bos bool, err error) {
	p, ok := preOf(v.Pre)
	if !ok {
		return false, &UnknownError{"tokenizer.ggml.pre", "pre-tokenizer", v.Pre}
	}
	if p.whole {
		return p.bos, t.fromWholeText(v)
	}
	m := &bpe{Lex: t.lex, Unk: none, IgnoreMerges: p.ignore}
	t.model, t.normalizer, t.cutter, t.decoder = m, p.form, p.cut(), byteDecoder{}
	if p.plain {
		t.decoder = nil
	}
	if v.AddSpacePrefix != nil && *v.AddSpacePrefix {
		for i, c := range t.cutter {
			if b, ok := c.(byteLevelSplit); ok {
				b.PrefixSpace = true
				t.cutter[i] = b
			}
		}
	}
	if v.Merges == nil && v.Pre == "kimi-k2" { // the ids are the ranks
		if id := m.setRanks(v.ordinary()); id != none {
			return false, longToken(fmt.Sprintf("tokenizer.ggml.tokens[%d]", id), len(v.Tokens[id]))
		}
		return p.bos, nil
	}
	return p.bos, v.fill(m)
}

func longToken(path string, n int) error {
	return &FormatError{Path: path, Want: fmt.Sprintf("a token of at most %d bytes", maxRankedToken), Got: fmt.Sprintf("%d bytes", n)}
}

// ordinary returns the number of tokens before the first special one.
func (v *Vocab) ordinary() int {
	for id, kind := range v.Types {
		if kind == TypeControl {
			return id
		}
	}
	return len(v.Tokens)
}

// fromWholeText reads vocabularies whose merges cross words: text is characters
// with marks for spaces, and unknown characters are bytes.
func (t *Tokenizer) fromWholeText(v Vocab) error {
	m := &bpe{Lex: t.lex, Unk: v.id("unk"), FuseUnk: true, ByteFallback: true}
	m.Bytes, m.AllBytes = t.lex.ByteTokens()
	t.model = m
	t.normalizer = replacement{Name: " ", Match: literal(" "), Content: metaMark}
	t.decoder = decoders{replaceDecoder{replacement{Name: metaMark, Match: literal(metaMark), Content: " "}}, byteFallback{}, fuse{}}
	return v.fill(m)
}

func (t *Tokenizer) fromLlama(v Vocab) error {
	spaces := replacement{Name: " ", Match: literal(" "), Content: metaMark}
	back := replaceDecoder{replacement{Name: metaMark, Match: literal(metaMark), Content: " "}}
	t.decoder = decoders{back, byteFallback{}, fuse{}}
	t.normalizer = spaces
	if v.AddSpacePrefix == nil || *v.AddSpacePrefix {
		t.normalizer = normalizers{prefixText{Text: metaMark}, spaces}
		t.decoder = decoders{back, byteFallback{}, fuse{}, trimDecoder{' ', 1, 0}}
	}
	unk := v.id("unk")
	if v.Merges != nil {
		m := &bpe{Lex: t.lex, Unk: unk, FuseUnk: true, ByteFallback: true}
		m.Bytes, m.AllBytes = t.lex.ByteTokens()
		t.model = m
		return v.fill(m)
	}
	m := &spm{Lex: t.lex, Scores: v.Scores, Unk: unk}
	m.Bytes, m.AllBytes = t.lex.ByteTokens()
	t.model = m
	return nil
}

func (t *Tokenizer) fromT5(v Vocab) error {
	if len(v.PrecompiledCharsmap) > 0 {
		m, ok := newCharsmap(v.PrecompiledCharsmap)
		if !ok {
			return &FormatError{Path: "tokenizer.ggml.precompiled_charsmap", Want: "a size, a trie of that size and UTF-8 text", Got: fmt.Sprintf("%d bytes", len(v.PrecompiledCharsmap))}
		}
		t.normalizer = m
	}
	prepend := "always"
	if v.AddSpacePrefix != nil && !*v.AddSpacePrefix {
		prepend = "never"
	}
	if v.RemoveExtraWhitespaces {
		t.cutter = preTokenizers{&splitter{Name: "WhitespaceSplit", Match: oneOf(isSpaceRune), How: removed}}
	}
	t.cutter = append(t.cutter, metaspace{Mark: metaMark, Prepend: prepend, Split: true})
	t.decoder = metaspaceDecoder{metaMark, prepend}
	scores := make([]float64, len(v.Scores))
	for i, s := range v.Scores {
		scores[i] = publishedScore(s)
	}
	unk := v.id("unk")
	if unk == none {
		for id, kind := range v.Types {
			if kind == TypeUnknown {
				unk = int32(id)
			}
		}
	}
	t.model = newUnigram(t.lex, scores, unk, false)
	return nil
}

// fromBert converts the tokens back: GGUF writes ▁word and rest for WordPiece's
// word and ##rest, and leaves tokens like [CLS] unchanged.
func (t *Tokenizer) fromBert(v Vocab) error {
	lex := newLexicon(len(v.Tokens))
	for id, s := range v.Tokens {
		lex.Add(wordPieceForm(s), int32(id))
	}
	unk := v.id("unk")
	if unk == none {
		id, ok := lex.IDs["[UNK]"]
		if !ok {
			return &FormatError{Path: "tokenizer.ggml.unknown_token_id", Want: "an id", Got: "none, and no token [UNK]"}
		}
		unk = id
	}
	t.lex = lex
	t.normalizer = bertText{Clean: true, Chinese: true, Accents: true, Lower: true}
	t.cutter = flatten(bertWords)
	t.decoder = pieceDecoder{"##", true}
	t.model = newWordPiece(lex, "##", unk, 100)
	return nil
}

func bracketed(s string) bool { return strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") }

// wordPieceForm is the inverse of ggufForm.
func wordPieceForm(s string) string {
	if bracketed(s) {
		return s
	}
	if word, ok := strings.CutPrefix(s, metaMark); ok {
		return word
	}
	return "##" + s
}

func ggufForm(s string) string {
	if bracketed(s) {
		return s
	}
	if rest, ok := strings.CutPrefix(s, "##"); ok {
		return rest
	}
	return metaMark + s
}
