// Package scan reads one line of text from left to right and says where it
// stopped. Names are plain, of letters, digits, "_", ".", "-" and "/", or quoted
// as Go quotes strings; [Word] writes them.
//
//	l.Lit("state s") ─▶ l.Number(8) ─▶ l.Lit(" kind=") ─▶ l.Bare() ─▶ l.End()
package scan

import (
	"fmt"
	"strconv"
	"strings"
)

// An Error says where a text cannot be read.
type Error struct {
	Line, Column int // from 1; column in bytes
	Why          string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why) }

// A Line is a line of text and how far it was read.
type Line struct {
	S   string
	N   int // its number
	Pos int // bytes read
}

// Spaces skips blanks. It always returns true, for use in a loop's condition.
func (l *Line) Spaces() bool {
	for l.Pos < len(l.S) && l.S[l.Pos] == ' ' {
		l.Pos++
	}
	return true
}

// Lit consumes text if it comes next.
func (l *Line) Lit(text string) bool {
	if !strings.HasPrefix(l.S[l.Pos:], text) {
		return false
	}
	l.Pos += len(text)
	return true
}

// Bare consumes plain characters, possibly none.
func (l *Line) Bare() string {
	start := l.Pos
	for l.Pos < len(l.S) && Plain(l.S[l.Pos]) {
		l.Pos++
	}
	return l.S[start:l.Pos]
}

// Word consumes a plain or quoted name.
func (l *Line) Word() (string, error) {
	if l.Pos < len(l.S) && l.S[l.Pos] == '"' {
		q, err := strconv.QuotedPrefix(l.S[l.Pos:])
		if err != nil {
			return "", l.Errorf("the quoted name does not end")
		}
		s, err := strconv.Unquote(q)
		if err != nil {
			return "", l.Errorf("bad quoted name")
		}
		l.Pos += len(q)
		return s, nil
	}
	if w := l.Bare(); w != "" {
		return w, nil
	}
	return "", l.Errorf("want a name")
}

func (l *Line) Number(bits int) (uint64, error) {
	start := l.Pos
	for l.Pos < len(l.S) && '0' <= l.S[l.Pos] && l.S[l.Pos] <= '9' {
		l.Pos++
	}
	n, err := strconv.ParseUint(l.S[start:l.Pos], 10, bits)
	if err != nil {
		return 0, l.ErrorAt(start, "want a number of at most %d bits", bits)
	}
	return n, nil
}

// End wants nothing more on the line.
func (l *Line) End() error {
	l.Spaces()
	if l.Pos < len(l.S) {
		return l.Errorf("unexpected %.20q", l.S[l.Pos:])
	}
	return nil
}

func (l *Line) Errorf(format string, args ...any) error { return l.ErrorAt(l.Pos, format, args...) }

func (l *Line) ErrorAt(pos int, format string, args ...any) error {
	return &Error{l.N, pos + 1, fmt.Sprintf(format, args...)}
}

// Word returns a name as it stands, or quoted if it is not plain.
func Word(s string) string {
	if s == "" {
		return `""`
	}
	for i := range len(s) {
		if !Plain(s[i]) {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// Plain reports whether a byte may stand in an unquoted name.
func Plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-' || c == '/'
}

// Sentence returns the text of a diagnostic on one line, quoted if it needs to be.
func Sentence(s string) string {
	if s == "" || s[0] == '"' || strings.TrimSpace(s) != s || strconv.QuoteToASCII(s) != `"`+s+`"` {
		return strconv.QuoteToASCII(s)
	}
	return s
}
