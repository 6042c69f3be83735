package token

// Text on its way to the model: a piece knows, for every byte, which bytes of
// the original it came from, if anyone asked. Normalizers rewrite pieces
// character by character; the bookkeeping follows the reference library, whose
// offsets are part of the tokenizer's contract.

import "unicode/utf8"

// A span is a range of byte positions in the original text.
type span struct{ a, b int32 }

// A piece is a stretch of normalized text. at is nil when offsets are not
// wanted; start is then exact only as long as nothing was rewritten.
type piece struct {
	s     string
	at    []span // one for each byte of s
	start int    // where the piece begins in the original, in bytes
}

// newPiece returns text as one piece.
func newPiece(text string, offsets bool) piece {
	p := piece{s: text}
	if !offsets {
		return p
	}
	p.at = make([]span, 0, len(text))
	for i := 0; i < len(text); {
		_, n := decodeRune(text[i:])
		for range n {
			p.at = append(p.at, span{int32(i), int32(i + n)})
		}
		i += n
	}
	return p
}

// slice returns bytes i to j of p.
func (p piece) slice(i, j int) piece {
	if i == j {
		return piece{start: p.start}
	}
	if p.at == nil {
		return piece{s: p.s[i:j], start: p.start + i}
	}
	return piece{s: p.s[i:j], at: p.at[i:j], start: int(p.at[i].a)}
}

// decodeRune is utf8.DecodeRuneInString with a short cut for ASCII.
func decodeRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// A rewriter builds the normalized form of a piece, one character at a time.
type rewriter struct {
	in  piece
	pos int // byte of in.s that the next replacing character replaces
	out []byte
	at  []span
}

func rewrite(p piece) *rewriter {
	w := &rewriter{in: p, out: make([]byte, 0, len(p.s)+8)}
	if p.at != nil {
		w.at = make([]span, 0, len(p.s)+8)
	}
	return w
}

// put appends r. change 0 replaces one character, a positive one inserts r
// behind what came before, a negative one replaces 1-change characters.
func (w *rewriter) put(r rune, change int) {
	before := len(w.out)
	w.out = utf8.AppendRune(w.out, r)
	if w.in.at == nil {
		return
	}
	at := span{int32(w.in.start), int32(w.in.start)}
	switch {
	case change > 0 && w.pos > 0:
		at = w.in.at[w.pos-1]
	case change <= 0:
		at = w.in.at[min(w.pos, len(w.in.at)-1)]
		w.skip(1 - change)
	}
	for range len(w.out) - before {
		w.at = append(w.at, at)
	}
}

// skip passes over n characters of the input.
func (w *rewriter) skip(n int) {
	for ; n > 0 && w.pos < len(w.in.s); n-- {
		_, size := decodeRune(w.in.s[w.pos:])
		w.pos += size
	}
}

// copy appends bytes i to j of the input as they are.
func (w *rewriter) copy(i, j int) {
	w.out = append(w.out, w.in.s[i:j]...)
	if w.in.at != nil {
		w.at = append(w.at, w.in.at[i:j]...)
	}
}

// insert appends s, all of it standing for the input's byte at.
func (w *rewriter) insert(s string, at int) {
	w.out = append(w.out, s...)
	if w.in.at != nil {
		for range len(s) {
			w.at = append(w.at, w.in.at[at])
		}
	}
}

func (w *rewriter) piece() piece {
	return piece{s: string(w.out), at: w.at, start: w.in.start}
}

// prepend puts s in front of a piece that is not empty; the new text shares
// the origin of the first character.
func (p piece) prepend(s string) piece {
	if p.at == nil {
		return piece{s: s + p.s, start: p.start}
	}
	at := make([]span, 0, len(s)+len(p.at))
	for range len(s) {
		at = append(at, p.at[0])
	}
	return piece{s: s + p.s, at: append(at, p.at...), start: p.start}
}

// lossy returns b as UTF-8, one U+FFFD for each maximal invalid part (the
// practice the Unicode standard recommends in section 3.9, and the reference
// library's; Go's own conversions differ).
func lossy(b []byte) string {
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

// invalidPrefix returns the length of the maximal invalid part at the start
// of b: the bytes that could have begun a character, at least one.
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
