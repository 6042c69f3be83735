package token

// Writing a tokenizer as GGUF metadata. Each part is written as well as the
// format allows, the result is read back, and differences are reported, so that
// nothing is lost silently.

import (
	"fmt"
	"slices"
	"strings"
)

// ToGGUF returns the GGUF form of t: a tokenizer made from it by [FromVocab]
// encodes and decodes every text like t. Templates for pairs of texts are not
// stored. If GGUF cannot express a part of t, the error is an
// [*InexpressibleError], and the returned Vocab holds the rest. (A file can then
// carry the whole tokenizer.json as tokenizer.huggingface.json, a key of the
// GGUF specification.)
func (t *Tokenizer) ToGGUF() (Vocab, error) {
	v := Vocab{Special: map[string]int32{}}
	err := t.exportModel(&v)
	t.exportTokens(&v)
	if frame := t.exportFrame(&v); err == nil {
		err = frame
	}
	if err != nil {
		return v, err
	}
	back, err := FromVocab(v)
	if err != nil {
		return v, &InexpressibleError{"model", err.Error()}
	}
	return v, t.compare(back)
}

func (t *Tokenizer) exportModel(v *Vocab) error {
	no, yes := false, true
	unknown := func(id int32) {
		if id != none {
			v.Special["unk"] = id
		}
	}
	switch m := t.model.(type) {
	case *bpe:
		v.Merges = make([]string, len(m.Pairs))
		for i, p := range m.Pairs {
			v.Merges[i] = m.Lex.Tokens[p[0]] + " " + m.Lex.Tokens[p[1]]
		}
		if m.ByteFallback {
			v.Model, v.Pre, v.Scores = "llama", "default", m.Scores()
			v.AddSpacePrefix = &no
			if strings.Contains(sketch(t.normalizer), "Prepend") {
				v.AddSpacePrefix = &yes
			}
			unknown(m.Unk)
			return nil
		}
		v.Model = "gpt2"
		if cut := sketch(t.cutter); strings.Contains(cut, "ByteLevel(prefix") {
			v.AddSpacePrefix = &yes
		}
		return t.exportPre(v, m)
	case *spm:
		v.Model, v.Pre, v.Scores = "llama", "default", m.Scores
		v.AddSpacePrefix = &no
		if strings.Contains(sketch(t.normalizer), "Prepend") {
			v.AddSpacePrefix = &yes
		}
		if n, ok := t.normalizer.(*sentenceText); ok && n.Prefix {
			v.AddSpacePrefix = &yes
		}
		unknown(m.Unk)
	case *unigram:
		v.Model, v.Pre = "t5", "default"
		for _, s := range m.Scores {
			v.Scores = append(v.Scores, float32(s))
		}
		if n, ok := t.normalizer.(*charsmap); ok {
			v.PrecompiledCharsmap = n.Blob
		}
		v.AddSpacePrefix = &yes
		if strings.Contains(sketch(t.cutter), "never") {
			v.AddSpacePrefix = &no
		}
		v.RemoveExtraWhitespaces = len(t.cutter) > 1
		unknown(m.Unk)
	case *sentenceUnigram:
		v.Model, v.Pre, v.Scores = "t5", "default", m.Scores
		unknown(m.Unk)
		if n, ok := t.normalizer.(*sentenceText); ok {
			v.AddSpacePrefix, v.RemoveExtraWhitespaces = &n.Prefix, n.Trim
			if n.Map != nil {
				v.PrecompiledCharsmap = n.Map.Blob
			}
		}
	case *greedy:
		v.Model = "rwkv"
		unknown(m.Unk)
	case *wordPiece:
		v.Model, v.Pre = "bert", "default"
		unknown(m.Unk)
	}
	return nil
}

// exportPre finds the name of t's pre-tokenizers.
func (t *Tokenizer) exportPre(v *Vocab, m *bpe) error {
	cut := strings.ReplaceAll(sketch(t.cutter), "prefix ", "")
	whole := false // the name exists with the other value of ignore_merges
	for _, any := range []bool{false, true} {
		if any {
			whole = m.ReachesAll(t.added)
		}
		for _, p := range pres {
			if !p.whole && !p.plain && sketch(p.cut()) == cut && sketch(p.form) == sketch(t.normalizer) && (p.ignore == m.IgnoreMerges || whole) {
				v.Pre = p.names[0]
				return nil
			}
		}
	}
	return &InexpressibleError{"pre_tokenizer", fmt.Sprintf("no name of tokenizer.ggml.pre stands for %s after %s with ignore_merges %v", cut, sketch(t.normalizer), m.IgnoreMerges)}
}

func (t *Tokenizer) exportTokens(v *Vocab) {
	v.Tokens, v.Types = make([]string, len(t.lex.Tokens)), make([]int32, len(t.lex.Tokens))
	for id, s := range t.lex.Tokens {
		v.Tokens[id], v.Types[id] = s, TypeNormal
		if !t.lex.Known[id] {
			v.Tokens[id], v.Types[id] = fmt.Sprintf("[PAD%d]", id), TypeUnused
			continue
		}
		if v.Model == "bert" {
			v.Tokens[id] = ggufForm(s)
		}
		if _, ok := byteToken(s); ok && v.Model == "llama" {
			v.Types[id] = TypeByte
		}
	}
	if v.Model == "rwkv" {
		for id, s := range t.lex.Tokens {
			if b, ok := bytesOf(s); ok && t.lex.Known[id] {
				v.Tokens[id] = escapeBytes(b)
			}
		}
		for _, a := range t.added {
			v.Tokens[a.ID] = a.Content
		}
	}
	for id, kind := range t.kinds() {
		if kind == TypeUserDefined || kind == TypeUnused {
			v.Types[id] = kind
		}
	}
	for _, a := range t.added {
		v.Types[a.ID] = TypeUserDefined
		if a.Special {
			v.Types[a.ID] = TypeControl
			if id, ok := v.Special["unk"]; ok && id == a.ID {
				v.Types[a.ID] = TypeUnknown
			}
		}
	}
	if v.Scores != nil { // added tokens follow the model's
		v.Scores = append(slices.Clone(v.Scores), make([]float32, len(v.Tokens)-len(v.Scores))...)
	}
}

// kinds returns the kinds of the pieces of a SentencePiece file, or nil.
func (t *Tokenizer) kinds() []int32 {
	switch m := t.model.(type) {
	case *spm:
		return m.Types
	case *sentenceUnigram:
		return m.types
	}
	return nil
}

// exportFrame stores the tokens around a text.
func (t *Tokenizer) exportFrame(v *Vocab) error {
	front, back, err := framing(t.post)
	if err != nil {
		return err
	}
	bos, eos := len(front) > 0, len(back) > 0
	v.AddBOS, v.AddEOS = &bos, &eos
	first, last := "bos", "eos"
	if v.Model == "bert" {
		first, last = "cls", "sep"
	}
	if bos {
		v.Special[first] = front[0]
	}
	if eos {
		v.Special[last] = back[0]
	}
	return nil
}

// framing returns the tokens before and after a single text, at most one each.
func framing(p postProcessor) (front, back []int32, err error) {
	switch p := p.(type) {
	case nil, trimmer:
	case enclosure:
		front, back = []int32{p.cls}, []int32{p.sep}
	case postProcessors:
		for _, q := range p {
			f, b, err := framing(q)
			if err != nil {
				return nil, nil, err
			}
			front, back = append(f, front...), append(back, b...)
		}
	case template:
		texts := 0
		for _, s := range p.single {
			switch {
			case s.ids == nil:
				texts++
				if s.text != 0 {
					texts = 2
				}
			case texts == 0:
				front = append(front, s.ids...)
			default:
				back = append(back, s.ids...)
			}
		}
		if texts != 1 {
			return nil, nil, &InexpressibleError{"post_processor.single", "the template does not hold the text exactly once"}
		}
	}
	if len(front) > 1 || len(back) > 1 {
		return nil, nil, &InexpressibleError{"post_processor", fmt.Sprintf("%d tokens before the text and %d after it", len(front), len(back))}
	}
	return front, back, nil
}

// compare reports the first part that differs in back, which was read from GGUF.
func (t *Tokenizer) compare(back *Tokenizer) error {
	for _, part := range []struct {
		path       string
		want, have string
	}{
		{"model", sketch(t.model), sketch(back.model)},
		{"normalizer", sketch(t.normalizer), sketch(back.normalizer)},
		{"pre_tokenizer", sketch(t.cutter), sketch(back.cutter)},
		{"decoder", sketch(t.decoder), sketch(back.decoder)},
	} {
		if part.want != part.have && !t.alike(part.path, back) {
			return &InexpressibleError{part.path, fmt.Sprintf("%s would become %s", part.want, part.have)}
		}
	}
	for id, s := range t.lex.Tokens {
		if got, _ := back.lex.Token(int32(id)); t.lex.Known[id] && (got != s || back.lex.IDs[s] != t.lex.IDs[s]) {
			return &InexpressibleError{fmt.Sprintf("model.vocab[%q]", s), fmt.Sprintf("it would become %q", got)}
		}
	}
	for _, a := range t.added {
		switch {
		case a.SingleWord || a.LStrip || a.RStrip:
			return &InexpressibleError{fmt.Sprintf("added_tokens[%q]", a.Content), "single_word, lstrip or rstrip is set"}
		case a.Normalized && t.normalizer != nil:
			return &InexpressibleError{fmt.Sprintf("added_tokens[%q]", a.Content), "it is found in normalized text"}
		}
	}
	m, ok := t.model.(*unigram)
	if ok {
		for id, s := range m.Scores {
			if publishedScore(float32(s)) != s {
				return &InexpressibleError{fmt.Sprintf("model.vocab[%d]", id), fmt.Sprintf("score %v is not a 32-bit number", s)}
			}
		}
	}
	return nil
}

// alike reports whether a difference is known to change no token.
func (t *Tokenizer) alike(path string, back *Tokenizer) bool {
	switch path {
	case "model":
		a, ok := t.model.(*bpe)
		b, ok2 := back.model.(*bpe)
		if !ok || !ok2 || a.IgnoreMerges == b.IgnoreMerges {
			return false
		}
		same := *b
		same.IgnoreMerges = a.IgnoreMerges
		return sketch(a) == sketch(&same) && a.ReachesAll(t.added)
	case "pre_tokenizer":
		// Splitting at spaces that the normalizer has replaced does nothing.
		n, ok := t.normalizer.(replacement)
		return ok && n.Name == " " && !strings.Contains(n.Content, " ") && len(back.cutter) == 0 &&
			len(t.cutter) == 1 && strings.HasPrefix(sketch(t.cutter[0]), `Split(" "`)
	}
	return false
}

// sketch formats a component with its options: components with the same sketch
// behave alike.
func sketch(c any) string {
	switch c := c.(type) {
	case nil:
		return "nothing"
	case normalizers:
		return sketches(c)
	case preTokenizers:
		return sketches(c)
	case decoders:
		return sketches(c)
	case unicodeForm:
		return [...]string{"NFC", "NFD", "NFKC", "NFKD"}[c.Form]
	case prefixText:
		return fmt.Sprintf("Prepend(%q)", c.Text)
	case replacement:
		return fmt.Sprintf("Replace(%q, %q)", c.Name, c.Content)
	case replaceDecoder:
		return sketch(c.replacement)
	case *charsmap:
		return fmt.Sprintf("Precompiled(%x)", c.Blob)
	case *splitter:
		return fmt.Sprintf("Split(%q, %s, %v)", c.Name, c.How, c.Invert)
	case byteLevelSplit:
		s := "ByteLevel("
		if c.PrefixSpace {
			s += "prefix "
		}
		return fmt.Sprintf("%sregex %v)", s, c.Regex)
	case *bpe:
		return fmt.Sprintf("BPE(%d merges, unk %d, prefix %q, suffix %q, fuse %v, bytes %v, ignore %v)",
			len(c.Pairs), c.Unk, c.Prefix, c.Suffix, c.FuseUnk, c.ByteFallback, c.IgnoreMerges)
	case *spm:
		s := fmt.Sprintf("SPM(unk %d", c.Unk)
		if c.Types != nil && !c.AllBytes {
			s += ", unknown characters joined"
		}
		if c.Defined != nil {
			s += ", user-defined pieces"
		}
		if slices.Contains(c.Types, TypeUnused) {
			s += ", unused pieces"
		}
		return s + ")"
	case *sentenceUnigram:
		return fmt.Sprintf("SentencePiece unigram(unk %d, bytes %v)", c.Unk, c.fallBack)
	case *sentenceText:
		return fmt.Sprintf("SentencePiece(%v %v %v %v %v)", c.Prefix, c.OnlyFirst, c.Trim, c.Suffix, c.Escape)
	case *unigram:
		return fmt.Sprintf("Unigram(unk %d, bytes %v)", c.Unk, c.ByteFallback)
	case *greedy:
		return fmt.Sprintf("Greedy(unk %d)", c.Unk)
	case *wordPiece:
		return fmt.Sprintf("WordPiece(%q, unk %d, %d characters)", c.Prefix, c.Unk, c.MaxChars)
	}
	return fmt.Sprintf("%T%+v", c, c)
}

func sketches[T any](list []T) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = sketch(c)
	}
	return "[" + strings.Join(parts, " ") + "]"
}
