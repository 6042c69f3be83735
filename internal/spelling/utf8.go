package spelling

import (
	"bytes"
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

// UTF8 returns a text of a file without the byte order mark that some editors begin one
// with, or an [*EncodingError].
func UTF8(b []byte) ([]byte, error) { return UTF8At(b, 1, true) }

// UTF8At is UTF8 for a part of a file that begins at a line; first says that the file does.
func UTF8At(b []byte, line int, first bool) ([]byte, error) {
	at := InvalidUTF8(b)
	if at < 0 {
		if first {
			b = WithoutMark(b)
		}
		return b, nil
	}
	e := &EncodingError{Line: line + bytes.Count(b[:at], []byte("\n")), Byte: at - bytes.LastIndexByte(b[:at], '\n'), Likely: "LATIN1"}
	if bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}) {
		e.Likely = "UTF-16"
	}
	return nil, e
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
