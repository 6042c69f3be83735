package token

// SentencePiece's own normalization. It differs from the components of
// tokenizer.json that replace it there: the longest entry of the map wins, and
// user-defined pieces are left as they are.

import (
	"strings"
	"unicode/utf8"
)

// sentenceText normalizes as SentencePiece does.
type sentenceText struct {
	Map       *charsmap // or nil
	Defined   *trie     // user-defined pieces, or nil
	Prefix    bool      // put a space in front …
	OnlyFirst bool      // … but only of the start of a text
	Trim      bool      // remove spaces at the ends, and all but one elsewhere
	Suffix    bool      // put the space of Prefix at the end instead
	Escape    bool      // spaces become ▁
}

// longest returns the replacement of the longest prefix of key in the map.
func (m *charsmap) longest(key string) (text string, size int) {
	pos := unitOffset(m.units[0])
	for i := range len(key) {
		c := uint32(key[i])
		pos ^= c
		if c == 0 || pos >= uint32(len(m.units)) {
			break
		}
		u := m.units[pos]
		if u&(1<<31|0xff) != c {
			break
		}
		pos ^= unitOffset(u)
		if u>>8&1 == 0 {
			continue
		}
		if pos >= uint32(len(m.units)) {
			break
		}
		if at := int(m.units[pos] & (1<<31 - 1)); at <= len(m.texts) {
			text, size = m.texts[at:], i+1
		}
	}
	text, _, _ = strings.Cut(text, "\x00")
	return text, size
}

// prefix returns how a text begins and the number of bytes that it stands for.
func (n *sentenceText) prefix(s string) (text string, size int) {
	if n.Defined != nil {
		if end, _ := n.Defined.Longest(s, 0, 0); end > 0 {
			return s[:end], end
		}
	}
	if n.Map != nil {
		if text, size = n.Map.longest(s); size > 0 {
			return text, size
		}
	}
	r, size := decodeRune(s)
	if r == utf8.RuneError && size == 1 {
		return "\ufffd", 1
	}
	return s[:size], size
}

// Normalize implements [normalizer].
func (n *sentenceText) Normalize(p Piece) Piece {
	s, i := p.S, 0
	for n.Trim && i < len(s) {
		text, size := n.prefix(s[i:])
		if text != " " {
			break
		}
		i += size
	}
	w := rewrite(p)
	if i == len(s) {
		return w.piece()
	}
	space := " "
	if n.Escape {
		space = metaMark
	}
	prefix := n.Prefix && (!n.OnlyFirst || p.start == 0)
	if prefix && !n.Suffix {
		w.insert(space, i)
	}
	after := n.Trim // white space came before
	for i < len(s) {
		text, size := n.prefix(s[i:])
		for after && strings.HasPrefix(text, " ") {
			text = text[1:]
		}
		if text != "" {
			after = strings.HasSuffix(text, " ")
			if n.Escape {
				text = strings.ReplaceAll(text, " ", metaMark)
			}
			w.replace(text, i, i+size)
		}
		i += size
		after = after && n.Trim
	}
	for n.Trim && strings.HasSuffix(string(w.out[max(0, len(w.out)-len(space)):]), space) {
		w.truncate(len(w.out) - len(space))
	}
	if prefix && n.Suffix {
		w.insert(space, len(s)-1)
	}
	return w.piece()
}

// replace appends text, which stands for bytes i to j of the input.
func (w *rewriter) replace(text string, i, j int) {
	if text == w.in.S[i:j] {
		w.copy(i, j)
		return
	}
	w.out = append(w.out, text...)
	if w.in.At != nil {
		at := Span{w.in.At[i].A, w.in.At[j-1].B}
		for range len(text) {
			w.at = append(w.at, at)
		}
	}
}

// truncate keeps the first n bytes of the output.
func (w *rewriter) truncate(n int) {
	w.out = w.out[:n]
	if w.at != nil {
		w.at = w.at[:n]
	}
}
