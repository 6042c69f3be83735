package graph

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// quoteWord returns the word as written in a text form: bare if it consists of
// letters, digits, _, -, / and dots, else quoted.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !bare(r) }) {
		return word
	}
	b, err := json.Marshal(word)
	if err != nil { // a string can always be encoded
		return strconv.Quote(word)
	}
	return string(b)
}

func bare(r rune) bool {
	return r == '_' || r == '.' || r == '-' || r == '/' || r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// A textLine is one record of a text form: words, numbers and JSON values, read
// from left to right. Blanks between items are skipped.
//
//	node g Gain ratio=4 :gain=0.5 +color="red"
//	│    │ │    │       │         └ a value for JSON
//	└────┴─┴────┴───────┴ words: bare, or quoted as in JSON
type textLine struct {
	text string
	at   int
}

// newTextLine returns a line to read.
func newTextLine(text string) *textLine { return &textLine{text: text} }

func (l *textLine) rest() string {
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t' || l.text[l.at] == '\r') {
		l.at++
	}
	return l.text[l.at:]
}

// Done reports whether the line is exhausted.
func (l *textLine) Done() bool { return l.rest() == "" }

// Take consumes the text if it comes next, and reports whether it did.
func (l *textLine) Take(text string) bool {
	if !strings.HasPrefix(l.rest(), text) {
		return false
	}
	l.at += len(text)
	return true
}

// Want consumes the text, and returns an error if it does not come next.
func (l *textLine) Want(text string) error {
	if l.Take(text) {
		return nil
	}
	return l.fault("want %q", text)
}

func (l *textLine) fault(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", l.at+1, fmt.Sprintf(format, args...))
}

// Quoted reports whether a quoted word comes next.
func (l *textLine) Quoted() bool { return strings.HasPrefix(l.rest(), `"`) }

// Word reads a bare or quoted word.
func (l *textLine) Word() (string, error) {
	rest := l.rest()
	if l.Quoted() {
		raw, err := l.JSON()
		var s string
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		return s, err
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !bare(r) && r != '+' })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", l.fault("want a word")
	}
	l.at += end
	return rest[:end], nil
}

// Int reads an integer.
func (l *textLine) Int() (int, error) {
	from := l.at
	w, err := l.Word()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(w)
	if err != nil {
		l.at = from
		return 0, l.fault("%q is not an integer", w)
	}
	return n, nil
}

// Float reads a number.
func (l *textLine) Float() (float64, error) {
	from := l.at
	w, err := l.Word()
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(w, 64)
	if err != nil {
		l.at = from
		return 0, l.fault("%q is not a number", w)
	}
	return x, nil
}

// JSON reads one JSON value and returns its text.
func (l *textLine) JSON() ([]byte, error) {
	d := json.NewDecoder(strings.NewReader(l.rest()))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, l.fault("want a JSON value: %v", err)
	}
	l.at += int(d.InputOffset())
	return raw, nil
}
