package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"unicode/utf8"
)

// A value is a JSON value whose members keep their order.
type value struct {
	at    string // JSON pointer
	kind  byte   // n t f 0 " [ {: the first byte of null, true, false, numbers, …
	text  string // of a string, or of a number as written
	list  []*value
	keys  []string // in order
	under map[string]*value
	id    int // order in the text
	// Of values that the compiler makes:
	made    bool   // a schema that stands for a part of another one
	refuses bool   // a schema whose only keyword must not be satisfied
	some    *dfa   // the schema of objects with a member of such a name that does not …
	but     *value // … satisfy this one
}

// A reader reads JSON.
type reader struct {
	d *json.Decoder
	n int
}

// readJSON reads one value. Members that are there twice are an error.
func readJSON(source []byte) (*value, error) {
	if len(source) > maxSource {
		return nil, &LimitError{What: "bytes", Most: maxSource}
	}
	if !utf8.Valid(source) {
		return nil, &Error{Schema: true, Why: "the schema is not UTF-8"}
	}
	r := &reader{d: json.NewDecoder(bytes.NewReader(source))}
	r.d.UseNumber()
	v, err := r.value("", 0)
	if err == nil {
		if _, end := r.d.Token(); end != io.EOF {
			err = fmt.Errorf("something follows the schema")
		}
	}
	if err != nil {
		switch err.(type) {
		case *Error, *LimitError:
			return nil, err
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("the JSON is cut off")
		}
		return nil, &Error{Schema: true, Why: err.Error()}
	}
	return v, nil
}

func (r *reader) value(at string, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, &LimitError{What: "schemas in schemas", Most: maxNesting}
	}
	t, err := r.d.Token()
	if err != nil {
		return nil, err
	}
	r.n++
	v := &value{at: at, id: r.n}
	switch t := t.(type) {
	case nil:
		v.kind = 'n'
	case bool:
		v.kind = 'f'
		if t {
			v.kind = 't'
		}
	case json.Number:
		v.kind, v.text = '0', t.String()
		if _, ok := v.number(); !ok {
			return nil, &Error{Pointer: at, Schema: true, Why: "the number has too many digits"}
		}
	case string:
		v.kind, v.text = '"', t
	case json.Delim:
		v.kind = byte(t)
		if t == '{' {
			v.under = map[string]*value{}
		}
		for i := 0; r.d.More(); i++ {
			key := fmt.Sprint(i)
			if t == '{' {
				k, err := r.d.Token()
				if err != nil {
					return nil, err
				}
				key = k.(string)
				if v.under[key] != nil {
					return nil, &Error{Pointer: at, Schema: true, Why: fmt.Sprintf("member %q is there twice", key)}
				}
			}
			sub, err := r.value(at+"/"+escapePointer(key), depth+1)
			if err != nil {
				return nil, err
			}
			if v.list = append(v.list, sub); t == '{' {
				v.keys, v.under[key] = append(v.keys, key), sub
			}
		}
		_, err = r.d.Token() // closes
	}
	return v, err
}

// last returns the largest id of a value's.
func (v *value) last() int {
	n := v.id
	for _, x := range v.list {
		n = max(n, x.last())
	}
	return n
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// number returns the value of a number of reasonable length.
func (v *value) number() (*big.Rat, bool) {
	const digits, exponent = 64, 64
	if v.kind != '0' || len(v.text) > digits {
		return nil, false
	}
	if _, e, ok := strings.Cut(strings.ToLower(v.text), "e"); ok {
		n := 0
		for _, c := range strings.TrimLeft(e, "+-") {
			if n = n*10 + int(c-'0'); n > exponent {
				return nil, false
			}
		}
	}
	return new(big.Rat).SetString(v.text)
}

// equal reports whether two values are the same by the rules of JSON Schema.
func (v *value) equal(w *value) bool {
	if v.kind != w.kind || len(v.list) != len(w.list) {
		return false
	}
	switch v.kind {
	case '0':
		a, _ := v.number()
		b, _ := w.number()
		return a.Cmp(b) == 0
	case '"':
		return v.text == w.text
	case '{':
		for k, x := range v.under {
			if y := w.under[k]; y == nil || !x.equal(y) {
				return false
			}
		}
		return true
	}
	for i := range v.list {
		if !v.list[i].equal(w.list[i]) {
			return false
		}
	}
	return true
}

// compact appends the value as JSON without spaces.
func (v *value) compact(b []byte) []byte { return v.write(b, "") }

// write appends the value as JSON with a text behind each comma and colon.
func (v *value) write(b []byte, space string) []byte {
	switch v.kind {
	case 'n':
		return append(b, "null"...)
	case 't':
		return append(b, "true"...)
	case 'f':
		return append(b, "false"...)
	case '0':
		return append(b, v.text...)
	case '"':
		return quote(b, v.text)
	}
	b = append(b, v.kind)
	for i, x := range v.list {
		if i > 0 {
			b = append(append(b, ','), space...)
		}
		if v.kind == '{' {
			b = append(append(quote(b, v.keys[i]), ':'), space...)
		}
		b = x.write(b, space)
	}
	return append(b, v.kind+2) // ] and } come two after [ and {
}

// quote appends a JSON string in which each character has its one usual form.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		b = append(b, encode(r)...)
	}
	return append(b, '"')
}

// encode returns a character of a JSON string in its usual form.
func encode(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < ' ' {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}
