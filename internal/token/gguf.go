package token

// GGUF keeps a tokenizer as lists: tokens, scores or merges, types, and two
// names that say how to use them. See the keys tokenizer.ggml.* in the GGUF
// specification; what the names mean is defined by llama.cpp.

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A Vocab is the tokenizer part of a GGUF file's metadata. Lists that a file
// leaves out are nil.
type Vocab struct {
	Model  string    // tokenizer.ggml.model: gpt2, llama, t5, bert
	Pre    string    // tokenizer.ggml.pre: how gpt2 cuts words
	Tokens []string  // by id
	Scores []float32 // by id: llama, t5
	Types  []int32   // by id: the Type constants
	Merges []string  // "left right", in rank order: gpt2; and llama, where scores alone leave ties open

	// Special holds the ids of tokenizer.ggml.*_token_id by the * in the key,
	// such as bos, eos, unknown, padding, seperator (which the format spells
	// so), cls, mask, eot.
	Special map[string]int32

	AddBOS, AddEOS, AddSpacePrefix *bool // nil: the model's default
	RemoveExtraWhitespaces         bool
	PrecompiledCharsmap            []byte
}

// Values of Vocab.Types, tokenizer.ggml.token_type.
const (
	TypeNormal      = 1
	TypeUnknown     = 2 // found in text, special
	TypeControl     = 3 // found in text, special
	TypeUserDefined = 4 // found in text
	TypeUnused      = 5
	TypeByte        = 6
)

// A pre is what tokenizer.ggml.pre stands for.
type pre struct {
	names  []string // the first is the one to write
	cut    func() preTokenizers
	form   normalizer
	ignore bool // tokens of the vocabulary are taken whole, whatever the merges
	bos    bool // AddBOS, if the file does not say
}

// cuts returns the pre-tokenizers that isolate known expressions in turn and
// then go byte by byte.
func cuts(res ...string) func() preTokenizers {
	return func() (ps preTokenizers) {
		for _, re := range res {
			ps = append(ps, &splitter{name: re, match: scanners[re], how: isolated})
		}
		return append(ps, byteLevel{})
	}
}

func gpt2Cut() preTokenizers { return preTokenizers{byteLevel{regex: true}} }

func digitsCut() preTokenizers {
	return preTokenizers{&splitter{name: "Digits", match: oneOf(isNumeric), how: isolated}, byteLevel{regex: true}}
}

// falconCut looks at digits after bytes became characters, as the published
// tokenizer does.
func falconCut() preTokenizers {
	return preTokenizers{
		&splitter{name: "Punctuation", match: oneOf(isBertPunctuation), how: contiguous},
		byteLevel{regex: true},
		&splitter{name: "Digits", match: oneOf(isNumeric), how: contiguous},
		&splitter{name: reTriples, match: threeDigits, how: isolated},
	}
}

var nfc = unicodeForm{norm.NFC}

// pres lists the names this package knows, after llama.cpp's. Qwen's text is
// composed first, as in its own tokenizer.json, which GGUF does not mention.
var pres = []pre{
	{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum", "roberta-bpe", "jina-v1-en", "jina-v2-code"}, cut: gpt2Cut},
	{names: []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}, cut: cuts(reLlama3), ignore: true, bos: true},
	{names: []string{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, cut: cuts(reLlama3)},
	{names: []string{"qwen2", "deepseek-r1-qwen", "megrez", "kormo"}, cut: cuts(reQwen2), form: nfc},
	{names: []string{"stablelm2", "hunyuan", "solar-open", "grok-2", "bailingmoe", "bailingmoe2", "llada-moe"}, cut: cuts(reQwen2)},
	{names: []string{"qwen35"}, cut: cuts(reQwen35), form: nfc},
	{names: []string{"tekken"}, cut: cuts(reTekken), ignore: true, bos: true},
	{names: []string{"gpt-4o", "llama4", "minimax-m2"}, cut: cuts(reO200k)},
	{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, cut: cuts(reDigits3, reCJK, reDeepSeek)},
	{names: []string{"deepseek-coder"}, cut: cuts(reLineEnd, reLetters, rePunct, reCJKWide, `\p{N}`)},
	{names: []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}, cut: digitsCut},
	{names: []string{"bloom", "gpt3-finnish", "poro-chat"}, cut: cuts(reBloom)},
	{names: []string{"viking"}, cut: cuts(reBloom, `\p{N}`)},
	{names: []string{"falcon"}, cut: falconCut},
	{names: []string{"default", ""}, cut: cuts(reFalconP, reGPT2, reNumbers, reTriples)},
}

// metaMark is the character SentencePiece writes for a space.
const metaMark = "▁"

// FromVocab makes a tokenizer of a GGUF vocabulary. Errors are
// [*FormatError] and, for models and pre-tokenizers that this package does
// not have, [*UnknownError]; paths are GGUF keys.
func FromVocab(v Vocab) (*Tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{lex: newLexicon(len(v.Tokens))}
	for id, s := range v.Tokens {
		t.lex.add(s, int32(id))
	}
	bos, eos := false, false
	var err error
	switch v.Model {
	case "gpt2":
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
	if types == nil { // old files: the ids that have a role are all there is
		types = make([]int32, len(v.Tokens))
		for _, id := range v.Special {
			types[id] = TypeControl
		}
	}
	for id, kind := range types {
		if kind == TypeUnknown || kind == TypeControl || kind == TypeUserDefined {
			if s := t.lex.tokens[id]; s != "" && t.lex.ids[s] == int32(id) {
				t.added = append(t.added, addedToken{ID: int32(id), Content: s, Special: kind != TypeUserDefined})
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
	t.complete()
	return t, nil
}

// check compares the sizes of the lists and the ids with the vocabulary.
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
			return &FormatError{Path: "tokenizer.ggml." + name + "_token_id", Want: fmt.Sprintf("an id below %d", n), Got: fmt.Sprint(id)}
		}
	}
	return nil
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

// frame is the template of one text and of two. A token that only the
// default asks for is left out if the file has none.
func (v *Vocab) frame(bos, bosSet, eos, eosSet bool) (postProcessor, error) {
	first, last := v.id("bos"), v.id("eos")
	if v.Model == "bert" {
		first, last = v.id("cls", "bos"), v.id("seperator", "sep", "eos")
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

// fill reads the merges into m. The space that separates two tokens is not
// the first character: vocabularies write spaces otherwise.
func (v *Vocab) fill(m *bpe) error {
	pairs := make([][]string, len(v.Merges))
	for i, line := range v.Merges {
		if k := strings.IndexByte(line[min(1, len(line)):], ' '); k >= 0 {
			pairs[i] = []string{line[:k+1], line[k+2:]}
		} else {
			pairs[i] = []string{line}
		}
	}
	if err := m.setMerges(pairs); err != nil {
		return badMerge("tokenizer.ggml.merges", err)
	}
	return nil
}

func (t *Tokenizer) fromGPT2(v Vocab) (bos bool, err error) {
	for _, p := range pres {
		for _, name := range p.names {
			if name != v.Pre {
				continue
			}
			m := &bpe{lex: t.lex, unk: none, ignoreMerges: p.ignore}
			t.model, t.normalizer, t.cutter, t.decoder = m, p.form, p.cut(), byteDecoder{}
			if v.AddSpacePrefix != nil && *v.AddSpacePrefix {
				for i, c := range t.cutter {
					if b, ok := c.(byteLevel); ok {
						b.prefixSpace = true
						t.cutter[i] = b
					}
				}
			}
			return p.bos, v.fill(m)
		}
	}
	return false, &UnknownError{"tokenizer.ggml.pre", "pre-tokenizer", v.Pre}
}

func (t *Tokenizer) fromLlama(v Vocab) error {
	spaces := replacement{name: " ", match: literal(" "), content: metaMark}
	back := replaceDecoder{replacement{name: metaMark, match: literal(metaMark), content: " "}}
	t.decoder = decoders{back, byteFallback{}, fuse{}}
	t.normalizer = spaces
	if v.AddSpacePrefix == nil || *v.AddSpacePrefix {
		t.normalizer = normalizers{prefixText{metaMark}, spaces}
		t.decoder = decoders{back, byteFallback{}, fuse{}, trimDecoder{' ', 1, 0}}
	}
	unk := v.id("unknown", "unk")
	if v.Merges != nil {
		m := &bpe{lex: t.lex, unk: unk, fuseUnk: true, byteFallback: true}
		m.bytes, m.allBytes = t.lex.byteTokens()
		t.model = m
		return v.fill(m)
	}
	m := &spm{lex: t.lex, scores: v.Scores, unk: unk}
	m.bytes, m.allBytes = t.lex.byteTokens()
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
		t.cutter = preTokenizers{&splitter{name: "WhitespaceSplit", match: oneOf(isSpace), how: removed}}
	}
	t.cutter = append(t.cutter, metaspace{metaMark, prepend, true})
	t.decoder = metaspaceDecoder{metaMark, prepend}
	scores := make([]float64, len(v.Scores))
	for i, s := range v.Scores {
		scores[i] = float64(s)
	}
	unk := v.id("unknown", "unk")
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

// fromBert turns the tokens back: GGUF writes ▁word and rest for WordPiece's
// word and ##rest, and leaves [CLS] and the like alone.
func (t *Tokenizer) fromBert(v Vocab) error {
	lex := newLexicon(len(v.Tokens))
	for id, s := range v.Tokens {
		lex.add(wordPieceForm(s), int32(id))
	}
	unk := v.id("unknown", "unk")
	if unk == none {
		id, ok := lex.ids["[UNK]"]
		if !ok {
			return &FormatError{Path: "tokenizer.ggml.unknown_token_id", Want: "an id", Got: "none, and no token [UNK]"}
		}
		unk = id
	}
	t.lex = lex
	t.normalizer = bertText{true, true, true, true}
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
