package token

// If offsets are requested, a piece of text records for every byte which bytes
// of the original it came from. Normalizers rewrite pieces character by
// character; the bookkeeping follows the reference library, whose offsets are
// part of its behavior.

import "unicode/utf8"

// A Span is a range of byte positions in the original text.
type Span struct{ A, B int32 }

// A Piece is a stretch of normalized text. At is nil if offsets are not
// requested; start is then exact only until something is rewritten.
type Piece struct {
	S     string
	At    []Span // one for each byte of S
	start int    // position in the original, in bytes
}

// newPiece returns text as one piece.
func newPiece(text string, offsets bool) Piece {
	p := Piece{S: text}
	if !offsets {
		return p
	}
	p.At = make([]Span, 0, len(text))
	for i := 0; i < len(text); {
		_, n := decodeRune(text[i:])
		for range n {
			p.At = append(p.At, Span{int32(i), int32(i + n)})
		}
		i += n
	}
	return p
}

// Slice returns bytes i to j of p.
func (p Piece) Slice(i, j int) Piece {
	if i == j {
		return Piece{start: p.start}
	}
	if p.At == nil {
		return Piece{S: p.S[i:j], start: p.start + i}
	}
	return Piece{S: p.S[i:j], At: p.At[i:j], start: int(p.At[i].A)}
}

// origin returns where bytes a to b of a nonempty piece with origins came from: of no
// bytes, the empty range in front of byte a.
func (p Piece) origin(a, b int) Span {
	n := len(p.At)
	b = min(b, n)
	switch {
	case a < b:
		return Span{p.At[a].A, p.At[b-1].B}
	case a < n:
		return Span{p.At[a].A, p.At[a].A}
	}
	return Span{p.At[n-1].B, p.At[n-1].B}
}

// decodeRune is utf8.DecodeRuneInString with a fast path for ASCII.
func decodeRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// A rewriter builds the normalized form of a piece, one character at a time.
type rewriter struct {
	in  Piece
	pos int // byte of in.S that the next replacing character replaces
	out []byte
	at  []Span
}

func rewrite(p Piece) *rewriter {
	w := &rewriter{in: p, out: make([]byte, 0, len(p.S)+8)}
	if p.At != nil {
		w.at = make([]Span, 0, len(p.S)+8)
	}
	return w
}

// put appends r. change 0 replaces one character, a positive one inserts r after
// the previous one, a negative one replaces 1-change characters.
func (w *rewriter) put(r rune, change int) {
	before := len(w.out)
	w.out = utf8.AppendRune(w.out, r)
	if w.in.At == nil {
		return
	}
	at := Span{int32(w.in.start), int32(w.in.start)}
	switch {
	case change > 0 && w.pos > 0:
		at = w.in.At[w.pos-1]
	case change <= 0:
		at = w.in.At[min(w.pos, len(w.in.At)-1)]
		w.skip(1 - change)
	}
	for range len(w.out) - before {
		w.at = append(w.at, at)
	}
}

// skip skips n characters of the input.
func (w *rewriter) skip(n int) {
	for ; n > 0 && w.pos < len(w.in.S); n-- {
		_, size := decodeRune(w.in.S[w.pos:])
		w.pos += size
	}
}

// copy appends bytes i to j of the input.
func (w *rewriter) copy(i, j int) {
	w.out = append(w.out, w.in.S[i:j]...)
	if w.in.At != nil {
		w.at = append(w.at, w.in.At[i:j]...)
	}
}

// insert appends s, with the input's byte at as its origin.
func (w *rewriter) insert(s string, at int) {
	w.out = append(w.out, s...)
	if w.in.At != nil {
		for range len(s) {
			w.at = append(w.at, w.in.At[at])
		}
	}
}

func (w *rewriter) piece() Piece {
	return Piece{S: string(w.out), At: w.at, start: w.in.start}
}

// prepend puts s in front of a nonempty piece; the new text shares the origin of
// the first character.
func (p Piece) prepend(s string) Piece {
	if p.At == nil {
		return Piece{S: s + p.S, start: p.start}
	}
	at := make([]Span, 0, len(s)+len(p.At))
	for range len(s) {
		at = append(at, p.At[0])
	}
	return Piece{S: s + p.S, At: append(at, p.At...), start: p.start}
}

// toValidUTF8 converts b to UTF-8 with one U+FFFD for each maximal invalid part (as
// recommended in section 3.9 of the Unicode standard and done by the reference
// library; Go's conversions differ).
func toValidUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n > 1 {
			out, b = append(out, b[:n]...), b[n:]
			continue
		}
		out, b = append(out, "\uFFFD"...), b[invalidPrefix(b):]
	}
	return string(out)
}

// invalidPrefix returns the length of the maximal invalid part at the start of
// b: the bytes that could have started a character, at least one.
func invalidPrefix(b []byte) int {
	low, high, want := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for ; n <= want && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
