package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A scanner tokenises JSON without building values. The standard decoder merges
// duplicate keys, loses positions and builds the whole document; a safetensors
// header with a hundred thousand tensors should not pay for that.
type scanner struct {
	file string
	b    []byte
	off  int
	base int  // offset of b in the file
	text bool // report line and column instead of a byte offset
	// loose also accepts the bare words NaN, Infinity and -Infinity, which occur in
	// published config.json files.
	loose bool
}

// maxNesting bounds the depth of skipped values.
const maxNesting = 256

func (s *scanner) errorAt(off int, field, want, got string) *FormatError {
	e := &FormatError{File: s.file, Offset: int64(s.base + off), Field: field, Want: want, Got: got, Fix: fixDamage}
	if s.text {
		e.Offset, e.Fix = 0, "correct the file or fetch it again"
		e.Line, e.Column = position(s.b, off)
	}
	return e
}

// position converts an offset to a line and a column, both from 1.
func position(b []byte, off int) (line, column int) {
	head := b[:min(off, len(b))]
	return 1 + bytes.Count(head, []byte{'\n'}), 1 + utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:])
}

// unexpected returns the error for an unexpected byte.
func (s *scanner) unexpected(want string) *FormatError {
	if s.off >= len(s.b) {
		return s.errorAt(len(s.b), "JSON", want, "the end of the text")
	}
	r, _ := utf8.DecodeRune(s.b[s.off:])
	return s.errorAt(s.off, "JSON", want, strconv.QuoteRune(r))
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.off < len(s.b); s.off++ {
		switch c := s.b[s.off]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// eat consumes the byte c if it is next.
func (s *scanner) eat(c byte) bool {
	if s.peek() != c || s.off >= len(s.b) {
		return false
	}
	s.off++
	return true
}

func (s *scanner) expect(c byte, want string) error {
	if !s.eat(c) {
		return s.unexpected(want)
	}
	return nil
}

// end checks that only white space is left.
func (s *scanner) end() error {
	if s.peek() != 0 || s.off < len(s.b) {
		return s.unexpected("the end of the text")
	}
	return nil
}

// object calls field for each key, which must consume the value. at is the
// position of the key.
func (s *scanner) object(field func(key string, at int) error) error {
	if err := s.expect('{', "'{'"); err != nil {
		return err
	}
	if s.eat('}') {
		return nil
	}
	for {
		s.peek()
		at := s.off
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':', "':'"); err != nil {
			return err
		}
		if err := field(key, at); err != nil {
			return err
		}
		if s.eat('}') {
			return nil
		}
		if err := s.expect(',', "',' or '}'"); err != nil {
			return err
		}
	}
}

// array calls elem for each element, which must consume it.
func (s *scanner) array(elem func() error) error {
	if err := s.expect('[', "'['"); err != nil {
		return err
	}
	if s.eat(']') {
		return nil
	}
	for {
		if err := elem(); err != nil {
			return err
		}
		if s.eat(']') {
			return nil
		}
		if err := s.expect(',', "',' or ']'"); err != nil {
			return err
		}
	}
}

// rawString consumes a string and returns it with its quotes.
func (s *scanner) rawString() (raw []byte, escaped bool, err error) {
	if s.peek() != '"' {
		return nil, false, s.unexpected("a string")
	}
	start := s.off
	for s.off++; s.off < len(s.b); {
		switch c := s.b[s.off]; {
		case c == '"':
			s.off++
			return s.b[start:s.off], escaped, nil
		case c < ' ':
			return nil, false, s.unexpected("a string without control characters")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		case c < utf8.RuneSelf:
			s.off++
		default:
			r, n := utf8.DecodeRune(s.b[s.off:])
			if r == utf8.RuneError && n == 1 {
				return nil, false, s.errorAt(s.off, "JSON", "UTF-8", fmt.Sprintf("byte %#02x", c))
			}
			s.off += n
		}
	}
	return nil, false, s.errorAt(start, "JSON", "a closing quote", "a string that never ends")
}

// escape consumes a backslash and what it escapes.
func (s *scanner) escape() error {
	s.off++
	if s.off >= len(s.b) {
		return s.unexpected("an escaped character")
	}
	switch s.b[s.off] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.off++
		return nil
	case 'u':
		s.off++
		for range 4 {
			if s.off >= len(s.b) || !hex(s.b[s.off]) {
				return s.unexpected("four hexadecimal digits")
			}
			s.off++
		}
		return nil
	}
	return s.unexpected(`one of "\/bfnrtu after a backslash`)
}

func hex(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// str reads a string.
func (s *scanner) str() (string, error) {
	raw, escaped, err := s.rawString()
	if err != nil {
		return "", err
	}
	if !escaped {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil { // cannot fail: rawString checked it
		return "", s.errorAt(s.off-len(raw), "JSON", "a string", err.Error())
	}
	return text, nil
}

// size reads a nonnegative integer that fits an int.
func (s *scanner) size(field string) (int, error) {
	s.peek()
	start := s.off
	if err := s.number(); err != nil {
		return 0, err
	}
	raw := string(s.b[start:s.off])
	n, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || n > math.MaxInt {
		return 0, s.errorAt(start, field, "a whole number from 0 to 2^63-1", clip(raw))
	}
	return int(n), nil
}

// number consumes a number in JSON's grammar.
func (s *scanner) number() error {
	s.peek()
	s.opt('-')
	if !s.opt('0') && !s.digits() {
		return s.unexpected("a number")
	}
	if s.opt('.') && !s.digits() {
		return s.unexpected("a digit after the decimal point")
	}
	if s.opt('e') || s.opt('E') {
		if !s.opt('+') {
			s.opt('-')
		}
		if !s.digits() {
			return s.unexpected("a digit of the exponent")
		}
	}
	return nil
}

// opt consumes the byte c if it is the very next, without skipping white space.
func (s *scanner) opt(c byte) bool {
	ok := s.off < len(s.b) && s.b[s.off] == c
	if ok {
		s.off++
	}
	return ok
}

func (s *scanner) digits() bool {
	start := s.off
	for s.off < len(s.b) && digit(s.b[s.off]) {
		s.off++
	}
	return s.off > start
}

// words lists the literal values; the last three are JavaScript's and accepted
// only if loose.
var words = [...]string{"true", "false", "null", "NaN", "Infinity", "-Infinity"}

const strictWords = 3

// skip consumes any value and checks its syntax.
func (s *scanner) skip(depth int) error {
	if depth > maxNesting {
		return s.errorAt(s.off, "JSON", fmt.Sprintf("values at most %d deep", maxNesting), "a deeper one")
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(func(string, int) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, _, err := s.rawString()
		return err
	}
	for i, w := range words {
		if (i < strictWords || s.loose) && bytes.HasPrefix(s.b[s.off:], []byte(w)) {
			s.off += len(w)
			return nil
		}
	}
	if c := s.peek(); c == '-' || digit(c) {
		return s.number()
	}
	return s.unexpected("a value")
}

// CheckJSON reports the first fault of a small text file, a [*FormatError] with its line
// and column. file names it.
func CheckJSON(file string, b []byte) error {
	s := scanner{file: file, b: b, text: true, loose: true}
	if err := s.skip(0); err != nil {
		return err
	}
	return s.end()
}
