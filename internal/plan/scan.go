package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// A scanError describes a syntax error and its column.
type scanError struct {
	Line, Column int // from 1; column in bytes
	Why          string
}

func (e *scanError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why)
}

// A scanLine is a line of text and how far it was read.
type scanLine struct {
	S   string
	N   int // its number
	Pos int // bytes read
}

// Spaces skips blanks. It always returns true, for use in a loop's condition.
func (l *scanLine) Spaces() bool {
	for l.Pos < len(l.S) && l.S[l.Pos] == ' ' {
		l.Pos++
	}
	return true
}

// Lit consumes text if it comes next.
func (l *scanLine) Lit(text string) bool {
	if !strings.HasPrefix(l.S[l.Pos:], text) {
		return false
	}
	l.Pos += len(text)
	return true
}

// Bare consumes plain characters, possibly none.
func (l *scanLine) Bare() string {
	start := l.Pos
	for l.Pos < len(l.S) && plainByte(l.S[l.Pos]) {
		l.Pos++
	}
	return l.S[start:l.Pos]
}

// Word consumes a plain or quoted name.
func (l *scanLine) Word() (string, error) {
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

func (l *scanLine) Number(bits int) (uint64, error) {
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

// End requires the end of the line.
func (l *scanLine) End() error {
	l.Spaces()
	if l.Pos < len(l.S) {
		return l.Errorf("unexpected %.20q", l.S[l.Pos:])
	}
	return nil
}

func (l *scanLine) Errorf(format string, args ...any) error { return l.ErrorAt(l.Pos, format, args...) }

func (l *scanLine) ErrorAt(pos int, format string, args ...any) error {
	return &scanError{l.N, pos + 1, fmt.Sprintf(format, args...)}
}

// scanWord returns a name as it stands, or quoted if it is not plain.
func scanWord(s string) string {
	if s == "" {
		return `""`
	}
	for i := range len(s) {
		if !plainByte(s[i]) {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// plainByte reports whether a byte may occur in an unquoted name.
func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-' || c == '/'
}

// sentence returns the text of a diagnostic on one line, quoted if it needs to be.
func sentence(s string) string {
	if s == "" || s[0] == '"' || strings.TrimSpace(s) != s || strconv.QuoteToASCII(s) != `"`+s+`"` {
		return strconv.QuoteToASCII(s)
	}
	return s
}
