package graph

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a plan's text. A plan needs nine levels; the
// rest is for keys that are preserved unread.
const maxDepth = 256

// A jsonKind is a kind of value.
type jsonKind uint8

// The kinds of values.
const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// A jsonValue is one JSON value with its position. encoding/json does not
// suffice for plans: it accepts invalid UTF-8, does not keep whether a number
// was written as an integer, and does not report positions.
//
//	{"nodes": [ 4.0 ]}     kind object with the item
//	                       Key nodes, kind array, bytes 10 to 17, with the item
//	                       kind number, text 4.0
//
// A value takes 72 bytes for at least two bytes of text, so memory is linear in
// the text, as is time.
type jsonValue struct {
	Kind     jsonKind
	Flag     bool        // of a bool
	Off, End int32       // byte range in the text
	Key      string      // of an object's member
	Text     string      // a string's characters or a number as written
	Items    []jsonValue // elements or members in order; of a repeated key the last value counts
}

// Get returns the member of that name, or nil.
func (v *jsonValue) Get(key string) *jsonValue {
	for i := range v.Items {
		if v.Items[i].Key == key {
			return &v.Items[i]
		}
	}
	return nil
}

// A scanner reads one text.
type scanner struct {
	in   []byte
	at   int
	warn []string
}

// A jsonSyntaxError is the position and cause of invalid JSON.
type jsonSyntaxError struct {
	Offset int
	Text   string
}

func (e *jsonSyntaxError) Error() string {
	return fmt.Sprintf("JSON syntax at byte %d: %s", e.Offset, e.Text)
}

func (s *scanner) fault(format string, args ...any) error {
	return &jsonSyntaxError{s.at, fmt.Sprintf(format, args...)}
}

// scanJSON reads the whole text as one value.
func scanJSON(in []byte) (root *jsonValue, warnings []string, err error) {
	s := &scanner{in: in}
	if len(in) > 1<<31-1 {
		return nil, nil, s.fault("a plan has at most 2 GiB")
	}
	for s.at < len(in) {
		r, n := utf8.DecodeRune(in[s.at:])
		if r == utf8.RuneError && n == 1 {
			return nil, nil, s.fault("the text is not UTF-8")
		}
		s.at += n
	}
	s.at = 0
	var v jsonValue
	s.space()
	if err := s.value(&v, 0); err != nil {
		return nil, nil, err
	}
	if s.space(); s.at < len(in) {
		return nil, nil, s.fault("unexpected text after the plan")
	}
	return &v, s.warn, nil
}

func (s *scanner) space() {
	for s.at < len(s.in) && (s.in[s.at] == ' ' || s.in[s.at] == '\n' || s.in[s.at] == '\t' || s.in[s.at] == '\r') {
		s.at++
	}
}

// next returns the next byte, 0 at the end of the text.
func (s *scanner) next() byte {
	if s.at < len(s.in) {
		return s.in[s.at]
	}
	return 0
}

func (s *scanner) value(v *jsonValue, depth int) (err error) {
	v.Off = int32(s.at)
	switch c := s.next(); {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return s.fault("nested deeper than %d levels", maxDepth)
		}
		err = s.container(v, depth)
	case c == '"':
		v.Kind = jsonString
		v.Text, err = s.str()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = jsonNumber
		v.Text, err = s.number()
	default:
		err = s.word(v)
	}
	v.End = int32(s.at)
	return err
}

func (s *scanner) word(v *jsonValue) error {
	for _, w := range []struct {
		text string
		kind jsonKind
		flag bool
	}{{"null", jsonNull, false}, {"true", jsonBool, true}, {"false", jsonBool, false}} {
		if len(s.in)-s.at >= len(w.text) && string(s.in[s.at:s.at+len(w.text)]) == w.text {
			s.at += len(w.text)
			v.Kind, v.Flag = w.kind, w.flag
			return nil
		}
	}
	if s.at == len(s.in) {
		return s.fault("unexpected end of text: want a value")
	}
	return s.fault("want a value")
}

// container reads an array or an object. Keys of large objects are looked up in
// a map, so that a text of many keys takes no quadratic time.
func (s *scanner) container(v *jsonValue, depth int) error {
	v.Kind = jsonArray
	closing := byte(']')
	if s.next() == '{' {
		v.Kind, closing = jsonObject, '}'
	}
	var keys map[string]int
	s.at++
	if s.space(); s.next() == closing {
		s.at++
		return nil
	}
	for {
		var item jsonValue
		if v.Kind == jsonObject {
			if s.next() != '"' {
				return s.fault("want a key in double quotes")
			}
			key, err := s.str()
			if err != nil {
				return err
			}
			if s.space(); s.next() != ':' {
				return s.fault("want a colon after the key %q", key)
			}
			s.at++
			s.space()
			item.Key = key
		}
		if err := s.value(&item, depth+1); err != nil {
			return err
		}
		if i, twice := find(v, keys, item.Key); twice {
			s.warning(fmt.Sprintf("byte %d: the key %q appears twice: the last one counts", item.Off, item.Key))
			v.Items[i] = item
		} else {
			v.Items = append(v.Items, item)
			keys = remember(v, keys)
		}
		switch s.space(); s.next() {
		case ',':
			s.at++
			s.space()
		case closing:
			s.at++
			return nil
		default:
			return s.fault("want a comma or %q", closing)
		}
	}
}

// maxWarnings bounds the warnings for a text of repeated keys.
const maxWarnings = 100

func (s *scanner) warning(text string) {
	if len(s.warn) < maxWarnings {
		s.warn = append(s.warn, text)
	}
}

// fewKeys is the number of keys up to which a linear search is used.
const fewKeys = 16

func find(v *jsonValue, keys map[string]int, key string) (int, bool) {
	if v.Kind != jsonObject {
		return 0, false
	}
	if keys != nil {
		i, ok := keys[key]
		return i, ok
	}
	for i := range v.Items {
		if v.Items[i].Key == key {
			return i, true
		}
	}
	return 0, false
}

func remember(v *jsonValue, keys map[string]int) map[string]int {
	if v.Kind != jsonObject || len(v.Items) < fewKeys {
		return nil
	}
	if keys == nil {
		keys = make(map[string]int, 2*fewKeys)
		for i := range v.Items {
			keys[v.Items[i].Key] = i
		}
	}
	keys[v.Items[len(v.Items)-1].Key] = len(v.Items) - 1
	return keys
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.next(); c >= '0' && c <= '9'; c = s.next() {
		s.at++
	}
	return s.at > from
}

func (s *scanner) number() (string, error) {
	from := s.at
	if s.next() == '-' {
		s.at++
	}
	if s.next() == '0' {
		s.at++
	} else if !s.digits() {
		return "", s.fault("want a digit")
	}
	if s.next() == '.' {
		s.at++
		if !s.digits() {
			return "", s.fault("want a digit after the point")
		}
	}
	if c := s.next(); c == 'e' || c == 'E' {
		s.at++
		if c := s.next(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return "", s.fault("want a digit in the exponent")
		}
	}
	return string(s.in[from:s.at]), nil
}

func (s *scanner) str() (string, error) {
	s.at++
	from := s.at
	for ; s.at < len(s.in) && s.in[s.at] >= ' ' && s.in[s.at] != '\\'; s.at++ {
		if s.in[s.at] == '"' {
			s.at++
			return string(s.in[from : s.at-1]), nil
		}
	}
	b := append([]byte{}, s.in[from:s.at]...)
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '"':
			s.at++
			return string(b), nil
		case c < ' ':
			return "", s.fault("a control character in a string must be escaped")
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
			s.at++
		}
	}
	return "", s.fault("unexpected end of text within a string")
}

// escapes lists the letters that may follow a backslash, escaped what they
// stand for.
const escapes, escaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// escape reads an escape. An unpaired surrogate is an error.
func (s *scanner) escape() (rune, error) {
	s.at++
	for i := range len(escapes) {
		if s.next() == escapes[i] {
			s.at++
			return rune(escaped[i]), nil
		}
	}
	r, ok := s.hex()
	if utf16.IsSurrogate(r) && s.next() == '\\' {
		s.at++
		var low rune
		if low, ok = s.hex(); ok {
			r = utf16.DecodeRune(r, low)
			ok = r != utf8.RuneError
		}
	}
	if !ok || utf16.IsSurrogate(r) {
		return 0, s.fault("no such escape in a string")
	}
	return r, nil
}

// hex reads u and four hexadecimal digits.
func (s *scanner) hex() (rune, bool) {
	if s.next() != 'u' || len(s.in)-s.at < 5 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.in[s.at+1:s.at+5]), 16, 32)
	if err != nil {
		return 0, false
	}
	s.at += 5
	return rune(n), true
}
