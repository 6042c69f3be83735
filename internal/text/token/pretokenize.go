package token

// Pre-tokenizers split text into words, which the model then tokenizes one by
// one. They are chained: each stage splits the pieces of the previous one.

import (
	"slices"
	"strings"
)

// A preTokenizer splits p and emits nonempty pieces in order.
type preTokenizer interface {
	Cut(p Piece, emit func(Piece))
}

// A behavior says what Split does with a match.
type behavior string

// The behaviors of Split.
const (
	removed            behavior = "Removed"
	isolatedMatch      behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

type (
	// splitter implements every pre-tokenizer that splits by a pattern. Invert
	// swaps matches with the stretches between them.
	splitter struct {
		Name   string // the pattern as spelled in the file, or the component's type
		Match  matcher
		All    segmenter // finds all matches at once; nil: Match does, one by one
		How    behavior
		Invert bool
	}

	// byteLevelSplit maps bytes to characters, after splitting by its own word pattern
	// if Regex is set. Raw keeps the bytes: for the last stage before a model that
	// reads bytes.
	byteLevelSplit struct {
		PrefixSpace, Regex, Raw bool
	}

	// metaspace replaces spaces by another character.
	metaspace struct {
		Mark    string
		Prepend string // always, first or never
		Split   bool
	}

	// preTokenizers is "Sequence".
	preTokenizers []preTokenizer
)

// Cut implements [preTokenizer].
func (ps preTokenizers) Cut(p Piece, emit func(Piece)) { ps.Chain(emit)(p) }

// Chain returns a function that applies every stage in turn. Creating it once
// per text saves an allocation per word.
func (ps preTokenizers) Chain(emit func(Piece)) func(Piece) {
	for _, c := range slices.Backward(ps) {
		next := emit
		emit = func(p Piece) { c.Cut(p, next) }
	}
	return emit
}

// Cut implements [preTokenizer].
func (c *splitter) Cut(p Piece, emit func(Piece)) {
	switch c.How {
	case isolatedMatch, removed:
		matches(p.S, c.Match, c.All, func(i, j int, match bool) {
			if i < j && (c.How == isolatedMatch || match == c.Invert) {
				emit(p.Slice(i, j))
			}
		})
		return
	}
	type part struct {
		i, j  int
		match bool
	}
	var parts []part
	matches(p.S, c.Match, c.All, func(i, j int, match bool) { parts = append(parts, part{i, j, match != c.Invert}) })
	if c.How == mergedWithNext {
		slices.Reverse(parts)
	}
	merged, previous := parts[:0], false
	for _, s := range parts {
		join := s.match && !previous
		if c.How == contiguous {
			join = s.match == previous
		}
		previous = s.match
		if join && len(merged) > 0 {
			last := &merged[len(merged)-1]
			last.i, last.j = min(last.i, s.i), max(last.j, s.j)
		} else {
			merged = append(merged, s)
		}
	}
	if c.How == mergedWithNext {
		slices.Reverse(merged)
	}
	for _, s := range merged {
		if s.i < s.j {
			emit(p.Slice(s.i, s.j))
		}
	}
}

// Cut implements [preTokenizer].
func (c byteLevelSplit) Cut(p Piece, emit func(Piece)) {
	if c.PrefixSpace && !strings.HasPrefix(p.S, " ") {
		p = p.prepend(" ")
	}
	if !c.Raw {
		out := emit
		emit = func(q Piece) { out(byteText{}.Normalize(q)) }
	}
	if !c.Regex {
		emit(p)
		return
	}
	segments(p.S, gpt2Scanner, func(i, j int, _ bool) { emit(p.Slice(i, j)) })
}

// Cut implements [preTokenizer].
func (c metaspace) Cut(p Piece, emit func(Piece)) {
	first := p.start == 0
	p = replacement{Name: " ", Match: literal(" "), Content: c.Mark}.Normalize(p)
	if !strings.HasPrefix(p.S, c.Mark) && (c.Prepend == "always" || c.Prepend == "first" && first) {
		p = p.prepend(c.Mark)
	}
	if !c.Split {
		emit(p)
		return
	}
	(&splitter{Match: literal(c.Mark), How: mergedWithNext}).Cut(p, emit)
}

// wordSplit is \w+|[^\w\s]+, the pattern of "Whitespace".
var wordSplit = anyOf(some(classWord), func(s string, i int) int {
	return positive(runOf(s, i, classWord|classSpace, true), i)
})

// bertWords is "BertPreTokenizer".
var bertWords = preTokenizers{
	&splitter{Name: "BertPreTokenizer", Match: oneOf(isSpaceRune), How: removed},
	&splitter{Name: "BertPreTokenizer", Match: oneOf(isBertPunctuation), How: isolatedMatch},
}

// byteChar maps each byte to its character in byte-level vocabularies: itself if
// it is printable Latin-1, else one from U+0100. charByte is the inverse, for
// characters below 0x144.
var byteChar, charByte = func() (c [256]rune, b [0x144]int16) {
	for i := range b {
		b[i] = -1
	}
	next := rune(256)
	for i := range c {
		r := rune(i)
		if !(r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xac || r >= 0xae) {
			r, next = next, next+1
		}
		c[i], b[r] = r, int16(i)
	}
	return c, b
}()

// bytesOf returns the bytes that the characters of s represent; ok is false if
// one represents none.
func bytesOf(s string) (out []byte, ok bool) {
	out = make([]byte, 0, len(s))
	for _, r := range s {
		if r >= rune(len(charByte)) || charByte[r] < 0 {
			return nil, false
		}
		out = append(out, byte(charByte[r]))
	}
	return out, true
}
