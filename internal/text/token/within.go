package token

// Texts that are cut to a number of tokens. What follows the end of a word, well behind the
// last token that is kept, does not change it: a text of megabytes is not tokenized to keep
// a few hundred tokens.

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// A Fit is what fits of one text or of a pair.
type Fit struct {
	IDs, Types []int32 // with special tokens; the index of each id's text
	Cut        int     // tokens that were cut
	More       bool    // at least so many were cut: a text was not read to its end
}

// A LongError says that a text may have more tokens than fit, and has no end of a word near
// enough to cut it there.
type LongError struct {
	Bytes int // of the text
}

// Error implements error.
func (e *LongError) Error() string {
	return fmt.Sprintf("a text of %d bytes has no end of a word near enough to cut it there", e.Bytes)
}

// EncodeWithin returns the ids of one text or of a pair, with special tokens and the
// index of each id's text. Of more than most ids, those at the end of the longer
// text are cut, of texts of equal length in turn. It cuts as the Rust library does with the
// strategy longest_first; which of two texts that were not read to their end is the
// longer one is estimated. It ends as EncodeContext does.
func (t *Tokenizer) EncodeWithin(ctx context.Context, most int, texts ...string) (Fit, error) {
	parts, lengths := make([]encoding, len(texts)), make([]int, len(texts))
	total, more := 0, false
	for i, s := range texts {
		var read int
		var err error
		if parts[i], read, err = t.begin(ctx, most, s, int32(i)); err != nil {
			return Fit{}, err
		}
		n := len(parts[i].ids)
		total += n
		lengths[i] = n
		if read < len(s) {
			more, lengths[i] = true, int(float64(n)/float64(read)*float64(len(s)))
		}
	}
	e := t.finish(true, false, parts...)
	room := max(most-(len(e.ids)-total), 0)
	if total <= room {
		return Fit{e.ids, e.types, 0, false}, nil
	}
	keep := []int{room}
	if len(parts) == 2 {
		keep = share(lengths[0], lengths[1], room)
	}
	for i := range parts {
		n := min(keep[i], len(parts[i].ids))
		parts[i].ids, parts[i].types = parts[i].ids[:n], parts[i].types[:n]
	}
	short := t.finish(true, false, parts...)
	return Fit{short.ids, short.types, len(e.ids) - len(short.ids), more}, nil
}

// share divides room between two texts: a short one keeps what it has.
func share(a, b, room int) []int {
	short, long := min(a, b), 0
	if short > room {
		long = short
	} else {
		long = max(short, room-short)
	}
	if short+long > room {
		short = room / 2
		long = short + room%2
	}
	if a > b {
		return []int{long, short}
	}
	return []int{short, long}
}

const (
	// A token of usual text has four bytes, so the first part of a text that is read has
	// several times the tokens that fit, and at least leastRead bytes.
	readPerToken = 16
	leastRead    = 4096
	// spareTokens are wanted beyond twice the tokens that fit.
	spareTokens = 256
	// If mostRead bytes do not have them, or so many for each token that fits, the text is
	// tokenized as a whole if it may fit at all.
	mostRead         = 1 << 20
	mostReadPerToken = 64
	// A text of more than mostWhole bytes is refused if it has sparseTokens times the tokens
	// that fit, by the length of the longest: a normalizer may drop most of a shorter one,
	// such as white space.
	mostWhole    = 256 << 10
	sparseTokens = 4
)

// begin returns the tokens of a text, or of its first bytes up to the end of a word if those
// have more than twice as many as fit, and how many bytes that are.
//
// The tokens that fit are those of the whole text: pre-tokenizers end a word at a space or
// the end of a line, and a model that reads a text as one word has no token that goes on
// behind one. What normalizers and added tokens do at the end of the bytes is far behind.
func (t *Tokenizer) begin(ctx context.Context, most int, text string, kind int32) (e encoding, read int, err error) {
	if e, read, err = t.prefix(ctx, most, text, kind); read > 0 || err != nil {
		return e, read, err
	}
	if len(text) > mostWhole && t.Least(len(text)) > sparseTokens*most {
		return e, 0, &LongError{len(text)}
	}
	e = t.encodeUntil(ctx.Done(), text, nil, kind, false)
	return e, len(text), context.Cause(ctx)
}

// prefix is begin for a text whose beginning has enough tokens; else it reads no bytes.
func (t *Tokenizer) prefix(ctx context.Context, most int, text string, kind int32) (e encoding, read int, err error) {
	for n := max(leastRead, readPerToken*most); 2*n < len(text) && n <= max(mostRead, mostReadPerToken*most); n *= 2 {
		end := endOfWord(text[:n])
		if end <= n/2 {
			continue
		}
		e = t.encodeUntil(ctx.Done(), text[:end], nil, kind, false)
		if err = context.Cause(ctx); err != nil {
			return e, 0, err
		}
		if len(e.ids) >= 2*most+spareTokens && (e.longest <= n/4 || !t.spans()) {
			return e, end, nil
		}
	}
	return e, 0, nil
}

// Exceeds returns how many tokens a text has at the least that has certainly more than most,
// of which it reads the beginning; 0 says that it may fit.
func (t *Tokenizer) Exceeds(ctx context.Context, most int, text string) (least int, err error) {
	e, read, err := t.prefix(ctx, most, text, 0)
	if read == 0 || err != nil {
		return 0, err
	}
	return len(e.ids), nil
}

// endOfWord returns where the last word of a text ends that a space or the end of a line
// follows.
func endOfWord(text string) int {
	return len(strings.TrimRightFunc(text[:strings.LastIndexAny(text, " \n")+1], unicode.IsSpace))
}

// spans reports whether a token goes on behind a space or the end of a line.
func (t *Tokenizer) spans() bool {
	t.survey()
	return t.spanning
}

// spaceMarks are how vocabularies spell a space and the end of a line.
const spaceMarks = " \n\u2581\u0120\u010a"

// Least returns how many tokens a text of so many bytes has at the least, if none of it
// is dropped or unknown.
func (t *Tokenizer) Least(bytes int) int {
	t.survey()
	return bytes / max(t.widest, 1)
}

// survey looks at all tokens, once.
func (t *Tokenizer) survey() {
	t.surveyed.Do(func() {
		for _, s := range t.lex.Tokens {
			t.widest = max(t.widest, len(s))
			t.spanning = t.spanning || strings.ContainsAny(strings.TrimLeft(s, spaceMarks), spaceMarks)
		}
	})
}
