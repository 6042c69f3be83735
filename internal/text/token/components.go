package token

// The components of tokenizer.json: one function per kind of component, one case
// per type. Other types are rejected.

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxNesting bounds nested sequences.
const maxNesting = 16

// A pattern is {"String": …} or {"Regex": …}.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// matcher returns the pattern's text and its implementation, that of [matcherOf].
func (l *loader) matcher(p pattern, path string) (string, matcher, segmenter) {
	switch {
	case p.String != nil && p.Regex == nil:
		return *p.String, literal(*p.String), nil
	case p.Regex != nil && p.String == nil:
		expr := canonical(*p.Regex)
		m, all, err := matcherOf(expr)
		if err != nil {
			l.wrong(path+".Regex", "an expression that the engine knows", err)
		}
		return expr, m, all
	}
	l.wrong(path, "String or Regex", "neither or both")
	return "", nil, nil
}

// canonical escapes line ends and unescapes quotes, because files write the same
// expression both ways.
func canonical(re string) string {
	var b strings.Builder
	for i := 0; i < len(re); i++ {
		switch c := re[i]; {
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\\' && i+1 < len(re):
			i++
			if re[i] != '"' {
				b.WriteByte('\\')
			}
			b.WriteByte(re[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// nested reads the members of a sequence.
func nested[T any](l *loader, raw json.RawMessage, path, field string, depth int, one func(json.RawMessage, string, int) T) []T {
	var f map[string]json.RawMessage
	var list []json.RawMessage
	if depth >= maxNesting {
		l.wrong(path, fmt.Sprintf("at most %d sequences in one another", maxNesting), "more")
		return nil
	}
	if !l.read(raw, path, &f) {
		return nil
	}
	for name := range f {
		if name != "type" && name != field {
			l.fail(&UnknownError{path, "option", name})
			return nil
		}
	}
	if isNull(f[field]) {
		l.wrong(path+"."+field, "a list", "nothing")
		return nil
	}
	if !l.read(f[field], path+"."+field, &list) {
		return nil
	}
	var out []T
	for i, r := range list {
		at := fmt.Sprintf("%s.%s[%d]", path, field, i)
		if isNull(r) {
			l.wrong(at, "a component", "null")
			return nil
		}
		out = append(out, one(r, at, depth+1))
	}
	return out
}

// bare reads a component without options.
func (l *loader) bare(raw json.RawMessage, path string) {
	var f struct {
		Type string `json:"type"`
	}
	l.read(raw, path, &f)
}

func (l *loader) normalizer(raw json.RawMessage, path string, depth int) normalizer {
	if isNull(raw) {
		return nil
	}
	switch kind := l.kind(raw, path); kind {
	case "Sequence":
		return normalizers(nested(l, raw, path, "normalizers", depth, l.normalizer))
	case "NFC", "NFD", "NFKC", "NFKD":
		l.bare(raw, path)
		return unicodeForm{Form: map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[kind]}
	case "Lowercase":
		l.bare(raw, path)
		return lowercase{}
	case "StripAccents":
		l.bare(raw, path)
		return stripAccents{}
	case "Nmt":
		l.bare(raw, path)
		return nmt{}
	case "ByteLevel":
		l.bare(raw, path)
		return byteText{}
	case "Prepend":
		var f struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		l.read(raw, path, &f)
		return prefixText{Text: f.Prepend}
	case "Strip":
		var f struct {
			Type  string `json:"type"`
			Left  bool   `json:"strip_left"`
			Right bool   `json:"strip_right"`
		}
		l.read(raw, path, &f)
		return strip{Left: f.Left, Right: f.Right}
	case "Replace":
		return l.replacement(raw, path)
	case "BertNormalizer":
		f := struct {
			Type    string `json:"type"`
			Clean   bool   `json:"clean_text"`
			Chinese bool   `json:"handle_chinese_chars"`
			Accents *bool  `json:"strip_accents"`
			Lower   bool   `json:"lowercase"`
		}{}
		l.read(raw, path, &f)
		n := bertText{Clean: f.Clean, Chinese: f.Chinese, Accents: f.Lower, Lower: f.Lower}
		if f.Accents != nil {
			n.Accents = *f.Accents
		}
		return n
	case "Precompiled":
		var f struct {
			Type string  `json:"type"`
			Map  *[]byte `json:"precompiled_charsmap"`
		}
		if !l.read(raw, path, &f) || f.Map == nil || len(*f.Map) == 0 {
			return &charsmap{} // an empty map changes nothing
		}
		m, ok := newCharsmap(*f.Map)
		if !ok {
			l.wrong(path+".precompiled_charsmap", "a size, a trie of that size and UTF-8 text", fmt.Sprintf("%d bytes", len(*f.Map)))
		}
		return m
	default: // an earlier fault has been reported
		l.fail(&UnknownError{path + ".type", "normalizer", kind})
	}
	return nil
}

func (l *loader) replacement(raw json.RawMessage, path string) replacement {
	var f struct {
		Type    string  `json:"type"`
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if !l.read(raw, path, &f) {
		return replacement{}
	}
	name, m, all := l.matcher(f.Pattern, path+".pattern")
	if f.Pattern.Regex != nil && mayBeEmpty(name) {
		l.wrong(path+".pattern.Regex", "an expression that matches at least one character", name)
	}
	least := 1
	if f.Pattern.String != nil {
		least = len(name)
	}
	return replacement{Name: name, Match: m, All: all, Least: least, Content: f.Content}
}

func (l *loader) behavior(b *behavior, path string) behavior {
	if b == nil {
		return isolatedMatch
	}
	switch *b {
	case removed, isolatedMatch, mergedWithPrevious, mergedWithNext, contiguous:
	default:
		l.fail(&UnknownError{path + ".behavior", "behavior", string(*b)})
	}
	return *b
}

func (l *loader) preTokenizer(raw json.RawMessage, path string, depth int) preTokenizer {
	if isNull(raw) {
		return nil
	}
	switch kind := l.kind(raw, path); kind {
	case "Sequence":
		return preTokenizers(nested(l, raw, path, "pretokenizers", depth, l.preTokenizer))
	case "ByteLevel":
		f := l.byteLevel(raw, path)
		return byteLevelSplit{PrefixSpace: f.PrefixSpace, Regex: f.Regex}
	case "Split":
		var f struct {
			Type     string    `json:"type"`
			Pattern  pattern   `json:"pattern"`
			Behavior *behavior `json:"behavior"`
			Invert   bool      `json:"invert"`
		}
		if !l.read(raw, path, &f) {
			return nil
		}
		name, m, all := l.matcher(f.Pattern, path+".pattern")
		return &splitter{Name: name, Match: m, All: all, How: l.behavior(f.Behavior, path), Invert: f.Invert}
	case "Metaspace":
		mark, prepend, split := l.metaspace(raw, path)
		return metaspace{Mark: mark, Prepend: prepend, Split: split}
	case "Digits":
		var f struct {
			Type       string `json:"type"`
			Individual bool   `json:"individual_digits"`
		}
		l.read(raw, path, &f)
		if f.Individual {
			return &splitter{Name: kind, Match: oneOf(isNumeric), How: isolatedMatch}
		}
		return &splitter{Name: kind, Match: oneOf(isNumeric), How: contiguous}
	case "Punctuation":
		var f struct {
			Type     string    `json:"type"`
			Behavior *behavior `json:"behavior"`
		}
		l.read(raw, path, &f)
		return &splitter{Name: kind, Match: oneOf(isBertPunctuation), How: l.behavior(f.Behavior, path)}
	case "BertPreTokenizer":
		l.bare(raw, path)
		return bertWords
	case "Whitespace":
		l.bare(raw, path)
		return &splitter{Name: kind, Match: wordSplit, How: removed, Invert: true}
	case "WhitespaceSplit":
		l.bare(raw, path)
		return &splitter{Name: kind, Match: oneOf(isSpaceRune), How: removed}
	case "CharDelimiterSplit":
		var f struct {
			Type      string `json:"type"`
			Delimiter string `json:"delimiter"`
		}
		l.read(raw, path, &f)
		l.char(f.Delimiter, path+".delimiter")
		return &splitter{Name: kind, Match: literal(f.Delimiter), How: removed}
	default: // an earlier fault has been reported
		l.fail(&UnknownError{path + ".type", "pre-tokenizer", kind})
	}
	return nil
}

// char checks that s is a single character.
func (l *loader) char(s, path string) {
	if utf8.RuneCountInString(s) != 1 {
		l.wrong(path, "one character", s)
	}
}

// byteLevelOptions are the options of ByteLevel in each of its roles.
type byteLevelOptions struct {
	Type        string `json:"type"`
	PrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets bool   `json:"trim_offsets"`
	Regex       bool   `json:"use_regex"`
}

func (l *loader) byteLevel(raw json.RawMessage, path string) byteLevelOptions {
	f := byteLevelOptions{PrefixSpace: true, TrimOffsets: true, Regex: true}
	l.read(raw, path, &f)
	return f
}

// metaspace reads the options that pre-tokenizer and decoder share, in their new
// and old forms.
func (l *loader) metaspace(raw json.RawMessage, path string) (mark, prepend string, split bool) {
	f := struct {
		Type        string `json:"type"`
		Replacement string `json:"replacement"`
		PrefixSpace *bool  `json:"add_prefix_space"`
		Prepend     string `json:"prepend_scheme"`
		Split       *bool  `json:"split"`
		StrRep      string `json:"str_rep"`
	}{Prepend: "always"}
	if !l.read(raw, path, &f) {
		return
	}
	l.char(f.Replacement, path+".replacement")
	switch f.Prepend {
	case "always", "first", "never":
	default:
		l.fail(&UnknownError{path + ".prepend_scheme", "prepend scheme", f.Prepend})
	}
	if f.PrefixSpace != nil && !*f.PrefixSpace {
		f.Prepend = "never"
	}
	return f.Replacement, f.Prepend, f.Split == nil || *f.Split
}

func (l *loader) postProcessor(raw json.RawMessage, path string, lex *lexicon, depth int) postProcessor {
	if isNull(raw) {
		return nil
	}
	switch kind := l.kind(raw, path); kind {
	case "Sequence":
		list := nested(l, raw, path, "processors", depth, func(r json.RawMessage, p string, d int) postProcessor {
			return l.postProcessor(r, p, lex, d)
		})
		for i, p := range list {
			_, ok := p.(template)
			for _, q := range list[:i] {
				if _, before := q.(template); ok && before {
					l.wrong(path, "at most one TemplateProcessing", "two")
				}
			}
		}
		return postProcessors(list)
	case "ByteLevel":
		f := l.byteLevel(raw, path)
		return trimmer{f.TrimOffsets, f.PrefixSpace}
	case "BertProcessing", "RobertaProcessing":
		f := struct {
			Type        string          `json:"type"`
			Sep         json.RawMessage `json:"sep"`
			Cls         json.RawMessage `json:"cls"`
			TrimOffsets bool            `json:"trim_offsets"`
			PrefixSpace bool            `json:"add_prefix_space"`
		}{TrimOffsets: true, PrefixSpace: true}
		if !l.read(raw, path, &f) {
			return nil
		}
		return enclosure{l.namedToken(f.Cls, path+".cls", lex), l.namedToken(f.Sep, path+".sep", lex),
			kind == "RobertaProcessing", trimmer{f.TrimOffsets, f.PrefixSpace}}
	case "TemplateProcessing":
		return l.template(raw, path, lex)
	default: // an earlier fault has been reported
		l.fail(&UnknownError{path + ".type", "post-processor", kind})
	}
	return nil
}

// namedToken reads ["[SEP]", 102].
func (l *loader) namedToken(raw json.RawMessage, path string, lex *lexicon) int32 {
	var pair []json.RawMessage
	var name string
	var id int32
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &name) != nil || json.Unmarshal(pair[1], &id) != nil {
		l.wrong(path, "[token, id]", string(raw))
		return 0
	}
	l.inVocab(id, path+"[1]", lex)
	return id
}

func (l *loader) inVocab(id int32, path string, lex *lexicon) {
	if _, ok := lex.Token(id); !ok && l.err == nil {
		l.wrong(path, "an id of the vocabulary", id)
	}
}

func (l *loader) template(raw json.RawMessage, path string, lex *lexicon) postProcessor {
	type place struct {
		ID     string `json:"id"`
		TypeID int32  `json:"type_id"`
	}
	type entry struct {
		Sequence *place `json:"Sequence"`
		Special  *place `json:"SpecialToken"`
	}
	var f struct {
		Type    string  `json:"type"`
		Single  []entry `json:"single"`
		Pair    []entry `json:"pair"`
		Special map[string]struct {
			ID     string   `json:"id"`
			IDs    []int32  `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if !l.read(raw, path, &f) {
		return nil
	}
	read := func(entries []entry, path string) (slots []slot) {
		for i, e := range entries {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case e.Sequence != nil && e.Special == nil && (e.Sequence.ID == "A" || e.Sequence.ID == "B"):
				slots = append(slots, slot{text: strings.Index("AB", e.Sequence.ID), types: e.Sequence.TypeID})
			case e.Special != nil && e.Sequence == nil:
				s, ok := f.Special[e.Special.ID]
				if !ok {
					l.wrong(at+".SpecialToken.id", "a name of special_tokens", e.Special.ID)
					return nil
				}
				for k, id := range s.IDs {
					l.inVocab(id, fmt.Sprintf("%s.special_tokens[%s].ids[%d]", strings.TrimSuffix(strings.TrimSuffix(path, ".single"), ".pair"), clip(e.Special.ID), k), lex)
				}
				slots = append(slots, slot{ids: append([]int32{}, s.IDs...), types: e.Special.TypeID})
			default:
				l.wrong(at, "Sequence A or B, or SpecialToken", "something else")
				return nil
			}
		}
		return slots
	}
	return template{read(f.Single, path+".single"), read(f.Pair, path+".pair")}
}

func (l *loader) decoder(raw json.RawMessage, path string, depth int) decoder {
	if isNull(raw) {
		return nil
	}
	switch kind := l.kind(raw, path); kind {
	case "Sequence":
		return decoders(nested(l, raw, path, "decoders", depth, l.decoder))
	case "ByteLevel":
		l.byteLevel(raw, path)
		return byteDecoder{}
	case "ByteFallback":
		l.bare(raw, path)
		return byteFallback{}
	case "Fuse":
		l.bare(raw, path)
		return fuse{}
	case "Replace":
		return replaceDecoder{l.replacement(raw, path)}
	case "Strip":
		var f struct {
			Type    string `json:"type"`
			Content string `json:"content"`
			Start   int    `json:"start"`
			Stop    int    `json:"stop"`
		}
		l.read(raw, path, &f)
		l.char(f.Content, path+".content")
		r, _ := utf8.DecodeRuneInString(f.Content)
		return trimDecoder{r, f.Start, f.Stop}
	case "Metaspace":
		mark, prepend, _ := l.metaspace(raw, path)
		return metaspaceDecoder{mark, prepend}
	case "WordPiece":
		f := struct {
			Type    string `json:"type"`
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}{Prefix: "##", Cleanup: true}
		l.read(raw, path, &f)
		return pieceDecoder{f.Prefix, f.Cleanup}
	case "BPEDecoder":
		f := struct {
			Type   string `json:"type"`
			Suffix string `json:"suffix"`
		}{Suffix: "</w>"}
		l.read(raw, path, &f)
		return suffixDecoder{f.Suffix}
	default: // an earlier fault has been reported
		l.fail(&UnknownError{path + ".type", "decoder", kind})
	}
	return nil
}
