package token

// GGUF stores a tokenizer as lists: tokens, scores or merges, types, and two
// names that say how to use them. See the keys tokenizer.ggml.* in the GGUF
// specification; the names are defined by llama.cpp.

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A Vocab is the tokenizer part of a GGUF file's metadata. Missing lists are
// nil.
type Vocab struct {
	Model  string    // tokenizer.ggml.model: gpt2, llama, t5, bert
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

// A pre is the meaning of a value of tokenizer.ggml.pre.
type pre struct {
	names  []string // the first is the one written
	cut    func() PreTokenizers
	form   Normalizer
	ignore bool // a word that is a token is not split, whatever the merges
	bos    bool // AddBOS if the file does not say
}

// cuts returns pre-tokenizers that isolate the given expressions in turn and
// then go byte by byte.
func cuts(res ...string) func() PreTokenizers {
	return func() (ps PreTokenizers) {
		for _, re := range res {
			ps = append(ps, &Splitter{Name: re, Match: Scanners[re], How: Isolated})
		}
		return append(ps, ByteLevel{})
	}
}

func gpt2Cut() PreTokenizers { return PreTokenizers{ByteLevel{Regex: true}} }

func digitsCut() PreTokenizers {
	return PreTokenizers{&Splitter{Name: "Digits", Match: OneOf(IsNumeric), How: Isolated}, ByteLevel{Regex: true}}
}

// falconCut splits digits after bytes became characters, as the published
// tokenizer does.
func falconCut() PreTokenizers {
	return PreTokenizers{
		&Splitter{Name: "Punctuation", Match: OneOf(IsBertPunctuation), How: Contiguous},
		ByteLevel{Regex: true},
		&Splitter{Name: "Digits", Match: OneOf(IsNumeric), How: Contiguous},
		&Splitter{Name: ReTriples, Match: ThreeDigits, How: Isolated},
	}
}

var nfc = UnicodeForm{Form: norm.NFC}

// pres lists the known names, as in llama.cpp. Qwen's text is composed (NFC)
// first, as in its own tokenizer.json, although GGUF does not say so.
var pres = []pre{
	{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum", "roberta-bpe", "jina-v1-en", "jina-v2-code"}, cut: gpt2Cut},
	{names: []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}, cut: cuts(ReLlama3), ignore: true, bos: true},
	{names: []string{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, cut: cuts(ReLlama3)},
	{names: []string{"qwen2", "deepseek-r1-qwen", "megrez", "kormo"}, cut: cuts(ReQwen2), form: nfc},
	{names: []string{"stablelm2", "hunyuan", "solar-open", "grok-2", "bailingmoe", "bailingmoe2", "llada-moe"}, cut: cuts(ReQwen2)},
	{names: []string{"qwen35"}, cut: cuts(ReQwen35), form: nfc},
	{names: []string{"tekken"}, cut: cuts(ReTekken), ignore: true, bos: true},
	{names: []string{"gpt-4o", "llama4", "minimax-m2"}, cut: cuts(ReO200k)},
	{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, cut: cuts(ReDigits3, ReCJK, ReDeepSeek)},
	{names: []string{"deepseek-coder"}, cut: cuts(ReLineEnd, ReLetters, RePunct, ReCJKWide, `\p{N}`)},
	{names: []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}, cut: digitsCut},
	{names: []string{"bloom", "gpt3-finnish", "poro-chat"}, cut: cuts(ReBloom)},
	{names: []string{"viking"}, cut: cuts(ReBloom, `\p{N}`)},
	{names: []string{"falcon"}, cut: falconCut},
	{names: []string{"default", ""}, cut: cuts(ReFalconP, ReGPT2, ReNumbers, ReTriples)},
}

// metaMark is the character SentencePiece writes for a space.
const metaMark = "▁"

// FromVocab makes a tokenizer from a GGUF vocabulary. Errors are [*FormatError]
// and, for unsupported models and pre-tokenizers, [*UnknownError]; paths are
// GGUF keys.
func FromVocab(v Vocab) (*Tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{lex: NewLexicon(len(v.Tokens))}
	for id, s := range v.Tokens {
		t.lex.Add(s, int32(id))
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
	if types == nil { // old files: only ids with a role are special
		types = make([]int32, len(v.Tokens))
		for _, id := range v.Special {
			types[id] = TypeControl
		}
	}
	for id, kind := range types {
		if kind == TypeUnknown || kind == TypeControl || kind == TypeUserDefined {
			if s := t.lex.Tokens[id]; s != "" && t.lex.IDs[s] == int32(id) {
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
	return None
}

// frame returns the template of one text and of two. A token that only the
// default requests is left out if the file has none.
func (v *Vocab) frame(bos, bosSet, eos, eosSet bool) (postProcessor, error) {
	first, last := v.id("bos"), v.id("eos")
	if v.Model == "bert" {
		first, last = v.id("cls", "bos"), v.id("sep", "eos")
	}
	if bos && first == None && bosSet || eos && last == None && eosSet {
		return nil, &FormatError{Path: "tokenizer.ggml.bos_token_id, eos_token_id", Want: "the tokens that add_bos_token and add_eos_token ask for", Got: "none"}
	}
	around := func(text int, bos bool) (slots []slot) {
		kind := int32(text)
		if bos && first != None {
			slots = append(slots, slot{ids: []int32{first}, types: kind})
		}
		slots = append(slots, slot{text: text, types: kind})
		if eos && last != None {
			slots = append(slots, slot{ids: []int32{last}, types: kind})
		}
		return slots
	}
	return template{around(0, bos), append(around(0, bos), around(1, bos && v.Model != "bert")...)}, nil
}

// fill adds the merges to m. The separating space is never the first character,
// because vocabularies encode spaces differently.
func (v *Vocab) fill(m *BPE) error {
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
	for _, p := range pres {
		for _, name := range p.names {
			if name != v.Pre {
				continue
			}
			m := &BPE{Lex: t.lex, Unk: None, IgnoreMerges: p.ignore}
			t.model, t.normalizer, t.cutter, t.decoder = m, p.form, p.cut(), byteDecoder{}
			if v.AddSpacePrefix != nil && *v.AddSpacePrefix {
				for i, c := range t.cutter {
					if b, ok := c.(ByteLevel); ok {
						b.PrefixSpace = true
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
	spaces := Replacement{Name: " ", Match: Literal(" "), Content: metaMark}
	back := replaceDecoder{Replacement{Name: metaMark, Match: Literal(metaMark), Content: " "}}
	t.decoder = decoders{back, byteFallback{}, fuse{}}
	t.normalizer = spaces
	if v.AddSpacePrefix == nil || *v.AddSpacePrefix {
		t.normalizer = Normalizers{PrefixText{Text: metaMark}, spaces}
		t.decoder = decoders{back, byteFallback{}, fuse{}, trimDecoder{' ', 1, 0}}
	}
	unk := v.id("unk")
	if v.Merges != nil {
		m := &BPE{Lex: t.lex, Unk: unk, FuseUnk: true, ByteFallback: true}
		m.Bytes, m.AllBytes = t.lex.ByteTokens()
		t.model = m
		return v.fill(m)
	}
	m := &SPM{Lex: t.lex, Scores: v.Scores, Unk: unk}
	m.Bytes, m.AllBytes = t.lex.ByteTokens()
	t.model = m
	return nil
}

func (t *Tokenizer) fromT5(v Vocab) error {
	if len(v.PrecompiledCharsmap) > 0 {
		m, ok := NewCharsmap(v.PrecompiledCharsmap)
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
		t.cutter = PreTokenizers{&Splitter{Name: "WhitespaceSplit", Match: OneOf(IsSpace), How: Removed}}
	}
	t.cutter = append(t.cutter, Metaspace{Mark: metaMark, Prepend: prepend, Split: true})
	t.decoder = metaspaceDecoder{metaMark, prepend}
	scores := make([]float64, len(v.Scores))
	for i, s := range v.Scores {
		scores[i] = float64(s)
	}
	unk := v.id("unk")
	if unk == None {
		for id, kind := range v.Types {
			if kind == TypeUnknown {
				unk = int32(id)
			}
		}
	}
	t.model = NewUnigram(t.lex, scores, unk, false)
	return nil
}

// fromBert converts the tokens back: GGUF writes ▁word and rest for WordPiece's
// word and ##rest, and leaves tokens like [CLS] unchanged.
func (t *Tokenizer) fromBert(v Vocab) error {
	lex := NewLexicon(len(v.Tokens))
	for id, s := range v.Tokens {
		lex.Add(wordPieceForm(s), int32(id))
	}
	unk := v.id("unk")
	if unk == None {
		id, ok := lex.IDs["[UNK]"]
		if !ok {
			return &FormatError{Path: "tokenizer.ggml.unknown_token_id", Want: "an id", Got: "none, and no token [UNK]"}
		}
		unk = id
	}
	t.lex = lex
	t.normalizer = BertText{Clean: true, Chinese: true, Accents: true, Lower: true}
	t.cutter = flatten(BertWords)
	t.decoder = pieceDecoder{"##", true}
	t.model = NewWordPiece(lex, "##", unk, 100)
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
