package token

// Pre-tokenizers cut text into words, which the model then tokenizes one by
// one. They are chained: each piece a stage emits is cut further by the next.

import (
	"slices"
	"strings"
)

// A preTokenizer cuts p and hands on pieces that are not empty, in order.
type preTokenizer interface {
	cut(p piece, emit func(piece))
}

// A behavior says what becomes of the text a pattern matched.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

type (
	// splitter is every pre-tokenizer that cuts by a pattern. invert swaps
	// matches with what lies between them.
	splitter struct {
		name   string // the pattern as the file has it, or the component's type
		match  matcher
		how    behavior
		invert bool
	}

	// byteLevel writes bytes as characters, with a word pattern of its own if
	// regex is set. raw leaves the bytes as they are: the last stage before a
	// model that reads bytes itself.
	byteLevel struct {
		prefixSpace, regex, raw bool
	}

	// metaspace writes spaces as another character.
	metaspace struct {
		mark    string
		prepend string // always, first or never
		split   bool
	}

	// preTokenizers is "Sequence".
	preTokenizers []preTokenizer
)

func (ps preTokenizers) cut(p piece, emit func(piece)) {
	if len(ps) == 0 {
		emit(p)
		return
	}
	ps[0].cut(p, func(q piece) { ps[1:].cut(q, emit) })
}

func (c *splitter) cut(p piece, emit func(piece)) {
	switch c.how {
	case isolated, removed:
		segments(p.s, c.match, func(i, j int, match bool) {
			if c.how == isolated || match == c.invert {
				emit(p.slice(i, j))
			}
		})
		return
	}
	type part struct {
		i, j  int
		match bool
	}
	var parts []part
	segments(p.s, c.match, func(i, j int, match bool) { parts = append(parts, part{i, j, match != c.invert}) })
	if c.how == mergedWithNext {
		slices.Reverse(parts)
	}
	merged, previous := parts[:0], false
	for _, s := range parts {
		join := s.match && !previous
		if c.how == contiguous {
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
	if c.how == mergedWithNext {
		slices.Reverse(merged)
	}
	for _, s := range merged {
		emit(p.slice(s.i, s.j))
	}
}

func (c byteLevel) cut(p piece, emit func(piece)) {
	if c.prefixSpace && !strings.HasPrefix(p.s, " ") {
		p = p.prepend(" ")
	}
	if !c.raw {
		out := emit
		emit = func(q piece) { out(byteText{}.normalize(q)) }
	}
	if !c.regex {
		emit(p)
		return
	}
	segments(p.s, gpt2Scanner, func(i, j int, _ bool) { emit(p.slice(i, j)) })
}

func (c metaspace) cut(p piece, emit func(piece)) {
	first := p.start == 0
	p = replacement{name: " ", match: literal(" "), content: c.mark}.normalize(p)
	if !strings.HasPrefix(p.s, c.mark) && (c.prepend == "always" || c.prepend == "first" && first) {
		p = p.prepend(c.mark)
	}
	if !c.split {
		emit(p)
		return
	}
	(&splitter{match: literal(c.mark), how: mergedWithNext}).cut(p, emit)
}

// words is \w+|[^\w\s]+, the pattern of "Whitespace".
var words = anyOf(some(classWord), func(s string, i int) int {
	return positive(run(s, i, classWord|classSpace, true), i)
})

// bertWords is "BertPreTokenizer".
var bertWords = preTokenizers{
	&splitter{name: "BertPreTokenizer", match: oneOf(isSpace), how: removed},
	&splitter{name: "BertPreTokenizer", match: oneOf(isBertPunctuation), how: isolated},
}

// byteChar is the character that stands for each byte in byte-level
// vocabularies: itself if it is printable Latin-1, one from U+0100 otherwise.
// charByte is the inverse, for characters below 0x144.
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

// bytesOf returns the bytes that the characters of s stand for; ok is false
// if one stands for none.
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
