package token

// A small JSON reader for the long lists of a tokenizer file: vocabularies of a
// quarter of a million entries, which take encoding/json seconds. Short
// components use encoding/json.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A reader tokenizes JSON text. base is the position of the text in the file.
type reader struct {
	b    []byte
	i    int
	base int64
	path string // for errors
}

func (r *reader) wrong(want string) error {
	got := "the end: the file is cut"
	if r.i < len(r.b) {
		got = clip(string(r.b[r.i:min(r.i+20, len(r.b))]))
	}
	return &FormatError{Path: r.path, Offset: r.base + int64(r.i), Want: want, Got: got}
}

// next skips white space and returns the next byte, 0 at the end.
func (r *reader) next() byte {
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes c, or returns an error.
func (r *reader) take(c byte) error {
	if r.next() != c {
		return r.wrong(strconv.Quote(string(c)))
	}
	r.i++
	return nil
}

// list reads a comma-separated list between open and shut.
func (r *reader) list(open, shut byte, item func() error) error {
	if err := r.take(open); err != nil {
		return err
	}
	if r.next() == shut {
		r.i++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if r.next() == ',' {
			r.i++
			continue
		}
		return r.take(shut)
	}
}

// object calls member for each key; member reads the value.
func (r *reader) object(member func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.text()
		if err == nil {
			err = r.take(':')
		}
		if err != nil {
			return err
		}
		return member(key)
	})
}

func (r *reader) array(element func() error) error { return r.list('[', ']', element) }

// stringEnd returns the end of the string that starts at r.i, and whether it is
// UTF-8 without escapes.
func (r *reader) stringEnd() (end int, plain bool, err error) {
	if r.next() != '"' {
		return 0, false, r.wrong("a string")
	}
	plain = true
	for i := r.i + 1; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			return i + 1, plain && utf8.Valid(r.b[r.i:i]), nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			r.i = i
			return 0, false, r.wrong("no control character in a string")
		}
	}
	return 0, false, r.wrong("a string that ends")
}

func (r *reader) text() (string, error) {
	end, plain, err := r.stringEnd()
	if err != nil {
		return "", err
	}
	raw := r.b[r.i:end]
	if plain {
		r.i = end
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", r.wrong("a string")
	}
	r.i = end
	return s, nil
}

// number returns the text of a number.
func (r *reader) number() string {
	r.next()
	from := r.i
	for r.i < len(r.b) && bytes.IndexByte([]byte("+-0123456789.eE"), r.b[r.i]) >= 0 {
		r.i++
	}
	return string(r.b[from:r.i])
}

func (r *reader) integer() (int64, error) {
	r.next()
	from := r.i
	n, err := strconv.ParseInt(r.number(), 10, 64)
	if err != nil {
		r.i = from
		return 0, r.wrong("an integer")
	}
	return n, nil
}

func (r *reader) float() (float64, error) {
	r.next()
	from := r.i
	x, ok := serdeFloat(r.number())
	if !ok {
		r.i = from
		return 0, r.wrong("a number")
	}
	return x, nil
}

// raw returns the text of the next value, with balanced brackets; it does not
// check the syntax further.
func (r *reader) raw() (json.RawMessage, error) {
	r.next()
	from, depth := r.i, 0
	for r.next() != 0 {
		switch c := r.b[r.i]; c {
		case '"':
			end, _, err := r.stringEnd()
			if err != nil {
				return nil, err
			}
			r.i = end
		case '{', '[':
			depth++
			r.i++
		case '}', ']':
			if depth == 0 {
				return nil, r.wrong("a value")
			}
			depth--
			r.i++
		case ',', ':':
			if depth == 0 {
				return nil, r.wrong("a value")
			}
			r.i++
			continue
		default:
			for r.i < len(r.b) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\""), r.b[r.i]) < 0 {
				r.i++
			}
		}
		if depth == 0 {
			return r.b[from:r.i:r.i], nil
		}
	}
	return nil, r.wrong("a value")
}

// A section is a value of an object with its position in the file.
type section struct {
	json.RawMessage
	base int64
}

func (s section) reader(path string) *reader {
	return &reader{b: s.RawMessage, base: s.base, path: path}
}

// sections splits an object into its values.
func sections(s section, path string) (map[string]section, error) {
	r, out := s.reader(path), map[string]section{}
	err := r.object(func(key string) error {
		r.next()
		at := r.base + int64(r.i)
		raw, err := r.raw()
		out[key] = section{raw, at}
		return err
	})
	if err == nil && r.next() != 0 {
		err = r.wrong("the end")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// without returns the object without the named sections.
func without(all map[string]section, names ...string) json.RawMessage {
	out := []byte{'{'}
	for key, s := range all {
		skip := false
		for _, n := range names {
			skip = skip || key == n
		}
		if skip {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(key)
		out = append(append(append(out, name...), ':'), s.RawMessage...)
	}
	return append(out, '}')
}

// nth adds an index to the path of an error.
func nth(err error, i int) error {
	if e, ok := err.(*FormatError); ok {
		e.Path += fmt.Sprintf("[%d]", i)
	}
	return err
}
