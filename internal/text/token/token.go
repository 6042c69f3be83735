package token

import (
	"context"
	"runtime"
	"sync"
	"unicode/utf8"
)

// A Tokenizer maps text to token ids and back. It is immutable and safe for
// concurrent use.
type Tokenizer struct {
	lex   *lexicon
	model tokenModel

	added      []AddedToken
	special    []bool  // by id: left out if special tokens are skipped
	original   *finder // added tokens matched before normalization …
	normalized *finder // … and after it
	normalizer normalizer
	cutter     preTokenizers
	post       postProcessor // may be nil
	decoder    decoder       // may be nil

	// origins is set if splitting depends on the position of a piece in the
	// original text, even without offsets.
	origins bool

	surveyed sync.Once // guards what follows
	widest   int       // bytes of the longest token, see Least
	spanning bool      // a token goes on behind a space
}

// Encode returns the ids of text; special adds the tokens that the model expects
// around a text. Added tokens are recognized in text. Invalid UTF-8 is read as
// U+FFFD.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	e := t.finish(special, false, t.encode(text, 0, false))
	return e.ids
}

// EncodePlain is [Tokenizer.Encode] for a text in which control tokens, those that are
// special, are text as any other.
func (t *Tokenizer) EncodePlain(text string, special bool) []int32 {
	return t.finish(special, false, t.encodeUntil(nil, text, never, 0, false)).ids
}

// EncodeContext is [Tokenizer.Encode], which ends with the cause of the context when that
// ends: a text of a hundred megabytes takes a minute. Of control tokens only those are
// recognized that have no byte of said: bytes of text in order, of each control token that
// a conversation made at least one; nil for a text that is none.
func (t *Tokenizer) EncodeContext(ctx context.Context, text string, said []int, special bool) ([]int32, error) {
	e := t.encodeUntil(ctx.Done(), text, unsaid(text, said), 0, false)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return t.finish(special, false, e).ids, nil
}

// An Offset is the range of code points of the original text that a token
// covers: [0, 0) for tokens added by the template.
type Offset struct{ Start, End int }

// EncodeWithOffsets is [Tokenizer.Encode] with the position of each token in
// text.
func (t *Tokenizer) EncodeWithOffsets(text string, special bool) ([]int32, []Offset) {
	return t.EncodeSaid(text, nil, special)
}

// EncodeSaid is [Tokenizer.EncodeWithOffsets] with what EncodeContext knows of a
// conversation.
func (t *Tokenizer) EncodeSaid(text string, said []int, special bool) ([]int32, []Offset) {
	e := t.finish(special, true, t.encodeUntil(nil, text, unsaid(text, said), 0, true))
	off := make([]Offset, len(e.off))
	for i, o := range e.off {
		off[i] = Offset{int(o.A), int(o.B)}
	}
	return e.ids, off
}

// EncodePair returns the ids of two texts in the form that the model expects for
// a pair, including special tokens, and for each id the index of its text.
func (t *Tokenizer) EncodePair(a, b string) (ids, types []int32) {
	e := t.finish(true, false, t.encode(a, 0, false), t.encode(b, 1, false))
	return e.ids, e.types
}

// finish applies the post-processor.
func (t *Tokenizer) finish(special, offsets bool, parts ...encoding) encoding {
	if t.post != nil {
		parts = t.post.process(parts, special, offsets)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	var e encoding
	for _, p := range parts {
		e.join(p)
	}
	return e
}

// stopEvery is after how many bytes of text encoding looks whether it should stop: a
// tenth of a second with the slowest model.
const stopEvery = 1 << 16

// encode runs text through added tokens, normalizer, pre-tokenizers and model.
func (t *Tokenizer) encode(text string, kind int32, offsets bool) encoding {
	return t.encodeUntil(nil, text, nil, kind, offsets)
}

// turnText are the bytes of a text that takes turns: one without spaces takes a hundred
// times its bytes while it is tokenized, and more at once than processors are no quicker.
const turnText = 64 << 10

var turns = make(chan struct{}, runtime.NumCPU())

// encodeUntil is encode, which gives up when done is closed: what it returns then is of
// no use. counts, unless nil, says which added tokens are some.
func (t *Tokenizer) encodeUntil(done <-chan struct{}, text string, counts control, kind int32, offsets bool) encoding {
	if !utf8.ValidString(text) {
		text = toValidUTF8([]byte(text))
	}
	var e encoding
	e.ids = make([]int32, 0, len(text)/3+4)
	e.types = make([]int32, 0, len(text)/3+4)
	if text == "" {
		return e
	}
	if len(text) >= turnText {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-done:
			return e
		}
	}
	sc := borrow()
	defer sc.Release()

	var points []int32
	if offsets {
		points = codePoints(text)
	}
	place := func(p Piece, a, b int32, shown string) {
		e.off = append(e.off, toPoints(points, p.origin(int(a), int(b))))
		e.texts = append(e.texts, shown)
	}
	stopped, since := false, 0
	var word func(Piece)
	word = func(p Piece) {
		if since += len(p.S); done != nil && since >= stopEvery {
			since = 0
			select {
			case <-done:
				stopped = true
			default:
			}
		}
		if stopped {
			return
		}
		sc.Toks, e.longest = sc.Toks[:0], max(e.longest, len(p.S))
		t.model.Tokenize(p, sc)
		if counts != nil {
			if cuts := t.forged(p, sc.Toks); cuts != nil {
				from := 0
				for _, to := range append(cuts, len(p.S)) {
					word(p.Slice(from, to))
					from = to
				}
				return
			}
		}
		for _, k := range sc.Toks {
			e.add(k.ID, kind)
			if offsets {
				place(p, k.A, k.B, t.lex.Tokens[k.ID])
			}
		}
	}
	token := func(p Piece, id int32) {
		e.add(id, kind)
		if offsets {
			place(p, 0, int32(len(p.S)), p.S)
		}
	}
	cut := t.cutter.Chain(word)
	origins := offsets || t.origins || counts != nil && t.normalizer != nil && t.normalized.special
	t.original.split(newPiece(text, origins), counts, func(p Piece) {
		if t.normalizer != nil {
			p = t.normalizer.Normalize(p)
		}
		if p.S != "" {
			t.normalized.split(p, counts, cut, token)
		}
	}, token)
	return e
}

// codePoints returns for each byte of s the index of its code point.
func codePoints(s string) []int32 {
	points, n := make([]int32, len(s)), int32(-1)
	for i := range len(s) {
		if utf8.RuneStart(s[i]) {
			n++
		}
		points[i] = n
	}
	return points
}

// toPoints converts a range of bytes to one of code points.
func toPoints(points []int32, o Span) Span {
	n := int32(len(points))
	switch {
	case o.A >= n && o.A == o.B && n > 0: // nothing, behind the text
		return Span{A: points[n-1] + 1, B: points[n-1] + 1}
	case o.A >= n:
		return o
	case o.B < n:
		return Span{A: points[o.A], B: points[o.B]}
	case o.B > 0 && o.B <= n:
		return Span{A: points[o.A], B: points[o.B-1] + 1}
	}
	return Span{A: points[o.A], B: points[o.A] + 2}
}

// VocabSize returns the highest id plus one.
func (t *Tokenizer) VocabSize() int { return len(t.lex.Tokens) }

// Token returns the vocabulary's form of id, which differs from its decoded
// text.
func (t *Tokenizer) Token(id int32) (string, bool) { return t.lex.Token(id) }

// ID returns the id of a token given in the vocabulary's form.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.lex.IDs[token]
	return id, ok
}

// IsSpecial reports whether id is left out of decoded text on request, such as
// the start and end of a text or the roles of a chat.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return id >= 0 && int(id) < len(t.special) && t.special[id]
}
