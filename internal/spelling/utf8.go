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

// UTF8 returns a text of a file without the byte order mark that some editors begin one
// with, or an [*EncodingError].
func UTF8(b []byte) ([]byte, error) {
	text := bytes.TrimPrefix(b, []byte("\ufeff"))
	if utf8.Valid(text) {
		return text, nil
	}
	at := len(b) - len(text)
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	e := &EncodingError{Line: 1 + bytes.Count(b[:at], []byte("\n")), Byte: at - bytes.LastIndexByte(b[:at], '\n'), Likely: "LATIN1"}
	if bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}) {
		e.Likely = "UTF-16"
	}
	return nil, e
}
