package spelling

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"
)

// An EncodingError says that a text is not UTF-8.
type EncodingError struct {
	Line, Byte int // of the first byte that is not, within its line; from 1
	Likely     string
}

// Error names the place and how the text can be converted.
func (e *EncodingError) Error() string {
	return fmt.Sprintf("line %d is not UTF-8 at byte %d, but likely %s: convert the text, for example by iconv -f %s -t UTF-8", e.Line, e.Byte, e.Likely, e.Likely)
}

// WithoutMark returns a text of a file without the byte order mark that some editors begin
// one with.
func WithoutMark(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\ufeff")) }

// Narrow is WithoutMark for a text that is decoded further and may have bytes that are not
// UTF-8: one of wider units is an [*EncodingError].
func Narrow(b []byte) ([]byte, error) {
	if wide(b) == "" {
		return WithoutMark(b), nil
	}
	return UTF8(b)
}

// UTF8 returns a text of a file without the byte order mark that some editors begin one
// with, or an [*EncodingError].
func UTF8(b []byte) ([]byte, error) { return UTF8At(b, 1, true) }

// UTF8At is UTF8 for a part of a file that begins at a line; first says that the file does.
func UTF8At(b []byte, line int, first bool) ([]byte, error) {
	at, units := InvalidUTF8(b), ""
	if first {
		units = wide(b)
	}
	if at < 0 && units == "" {
		if first {
			b = WithoutMark(b)
		}
		return b, nil
	}
	zero := bytes.IndexByte(b, 0)
	switch {
	case at < 0: // ASCII
		at = zero
	case zero >= 0: // and LATIN1 has none
		units = cmp.Or(units, "UTF-16")
	}
	return nil, &EncodingError{
		Line: line + bytes.Count(b[:at], []byte("\n")), Byte: at - bytes.LastIndexByte(b[:at], '\n'),
		Likely: cmp.Or(units, "LATIN1"),
	}
}

// wide returns the encoding of a text whose units are wider than a byte, "" if they are
// not. A byte order mark tells it, and else where zeros are among the first bytes: no other
// encoding has them, and these have them in all of ASCII.
func wide(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(b, []byte{0, 0, 0xfe, 0xff}):
		return "UTF-32"
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}), bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "UTF-16"
	}
	const units = 256 // that are looked at
	var zeros [4]int  // by position in a unit of four bytes
	b = b[:min(len(b)&^3, 4*units)]
	for i, c := range b {
		if c == 0 {
			zeros[i%4]++
		}
	}
	n := len(b) / 4
	few := func(i int) bool { return 8*zeros[i] <= n }
	most := func(i int) bool { return 2*zeros[i] > n } // the others are letters beyond Latin
	switch {
	case n == 0:
		return ""
	case few(0) && most(1) && most(2) && most(3):
		return "UTF-32LE"
	case most(0) && most(1) && most(2) && few(3):
		return "UTF-32BE"
	case few(0) && few(2) && most(1) && most(3):
		return "UTF-16LE"
	case most(0) && most(2) && few(1) && few(3):
		return "UTF-16BE"
	}
	return ""
}

// InvalidUTF8 returns the first byte that is not UTF-8, -1 if all are.
func InvalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	at := 0
	for {
		c, n := utf8.DecodeRune(b[at:])
		if c == utf8.RuneError && n < 2 {
			return at
		}
		at += n
	}
}
