package token

// Pre-tokenizers split text into words, which the model then tokenizes one by
// one. They are chained: each stage splits the pieces of the previous one.

import (
	"slices"
	"strings"
)

// A PreTokenizer splits p and emits nonempty pieces in order.
type PreTokenizer interface {
	Cut(p Piece, emit func(Piece))
}

// A Behavior says what Split does with a match.
type Behavior string

// The behaviors of Split.
const (
	Removed            Behavior = "Removed"
	Isolated           Behavior = "Isolated"
	MergedWithPrevious Behavior = "MergedWithPrevious"
	MergedWithNext     Behavior = "MergedWithNext"
	Contiguous         Behavior = "Contiguous"
)

type (
	// Splitter implements every pre-tokenizer that splits by a pattern. Invert
	// swaps matches with the stretches between them.
	Splitter struct {
		Name   string // the pattern as spelled in the file, or the component's type
		Match  Matcher
		All    segmenter // finds all matches at once; nil: Match does, one by one
		How    Behavior
		Invert bool
	}

	// ByteLevel maps bytes to characters, after splitting by its own word pattern
	// if Regex is set. Raw keeps the bytes: for the last stage before a model that
	// reads bytes.
	ByteLevel struct {
		PrefixSpace, Regex, Raw bool
	}

	// Metaspace replaces spaces by another character.
	Metaspace struct {
		Mark    string
		Prepend string // always, first or never
		Split   bool
	}

	// PreTokenizers is "Sequence".
	PreTokenizers []PreTokenizer
)

// Cut implements [PreTokenizer].
func (ps PreTokenizers) Cut(p Piece, emit func(Piece)) { ps.Chain(emit)(p) }

// Chain returns a function that applies every stage in turn. Creating it once
// per text saves an allocation per word.
func (ps PreTokenizers) Chain(emit func(Piece)) func(Piece) {
	for _, c := range slices.Backward(ps) {
		next := emit
		emit = func(p Piece) { c.Cut(p, next) }
	}
	return emit
}

// Cut implements [PreTokenizer].
func (c *Splitter) Cut(p Piece, emit func(Piece)) {
	switch c.How {
	case Isolated, Removed:
		matches(p.S, c.Match, c.All, func(i, j int, match bool) {
			if i < j && (c.How == Isolated || match == c.Invert) {
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
	if c.How == MergedWithNext {
		slices.Reverse(parts)
	}
	merged, previous := parts[:0], false
	for _, s := range parts {
		join := s.match && !previous
		if c.How == Contiguous {
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
	if c.How == MergedWithNext {
		slices.Reverse(merged)
	}
	for _, s := range merged {
		if s.i < s.j {
			emit(p.Slice(s.i, s.j))
		}
	}
}

// Cut implements [PreTokenizer].
func (c ByteLevel) Cut(p Piece, emit func(Piece)) {
	if c.PrefixSpace && !strings.HasPrefix(p.S, " ") {
		p = p.prepend(" ")
	}
	if !c.Raw {
		out := emit
		emit = func(q Piece) { out(ByteText{}.Normalize(q)) }
	}
	if !c.Regex {
		emit(p)
		return
	}
	segments(p.S, gpt2Scanner, func(i, j int, _ bool) { emit(p.Slice(i, j)) })
}

// Cut implements [PreTokenizer].
func (c Metaspace) Cut(p Piece, emit func(Piece)) {
	first := p.start == 0
	p = Replacement{Name: " ", Match: Literal(" "), Content: c.Mark}.Normalize(p)
	if !strings.HasPrefix(p.S, c.Mark) && (c.Prepend == "always" || c.Prepend == "first" && first) {
		p = p.prepend(c.Mark)
	}
	if !c.Split {
		emit(p)
		return
	}
	(&Splitter{Match: Literal(c.Mark), How: MergedWithNext}).Cut(p, emit)
}

// Words is \w+|[^\w\s]+, the pattern of "Whitespace".
var Words = anyOf(some(ClassWord), func(s string, i int) int {
	return positive(RunOf(s, i, ClassWord|ClassSpace, true), i)
})

// BertWords is "BertPreTokenizer".
var BertWords = PreTokenizers{
	&Splitter{Name: "BertPreTokenizer", Match: OneOf(IsSpace), How: Removed},
	&Splitter{Name: "BertPreTokenizer", Match: OneOf(IsBertPunctuation), How: Isolated},
}

// ByteChar maps each byte to its character in byte-level vocabularies: itself if
// it is printable Latin-1, else one from U+0100. CharByte is the inverse, for
// characters below 0x144.
var ByteChar, CharByte = func() (c [256]rune, b [0x144]int16) {
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

// BytesOf returns the bytes that the characters of s represent; ok is false if
// one represents none.
func BytesOf(s string) (out []byte, ok bool) {
	out = make([]byte, 0, len(s))
	for _, r := range s {
		if r >= rune(len(CharByte)) || CharByte[r] < 0 {
			return nil, false
		}
		out = append(out, byte(CharByte[r]))
	}
	return out, true
}
