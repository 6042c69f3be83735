package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// parseConfig reads a config.json. Python writes Infinity and NaN where JSON
// has no such numbers; they are accepted and become numbers out of range.
func parseConfig(file string, b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(plainNumbers(b)))
	d.UseNumber()
	var m map[string]any
	err := d.Decode(&m)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			if m == nil {
				return nil, &ConfigError{File: file, Want: "a JSON object", Got: "null"}
			}
			return m, nil
		}
		err = errors.New("more text after the object")
	}
	e := &ConfigError{File: file, Want: "a JSON object", Got: err.Error()}
	at := d.InputOffset()
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = s.Offset
	}
	before := b[:min(int(at), len(b))]
	e.Line = 1 + bytes.Count(before, []byte("\n"))
	e.Column = 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
	return nil, e
}

// pythonNumbers are Python's spellings and what replaces them: text of the
// same length, so that positions in errors stay right. The number is beyond
// every float; "N" is a string and no number accepts it.
var pythonNumbers = []struct{ from, to string }{{"Infinity", "1e999999"}, {"NaN", `"N"`}}

func plainNumbers(b []byte) []byte {
	if !bytes.Contains(b, []byte("Infinity")) && !bytes.Contains(b, []byte("NaN")) {
		return b
	}
	out := bytes.Clone(b)
	inString := false
	for i := 0; i < len(out); i++ {
		switch {
		case inString && out[i] == '\\':
			i++
		case out[i] == '"':
			inString = !inString
		case !inString:
			for _, n := range pythonNumbers {
				if bytes.HasPrefix(out[i:], []byte(n.from)) {
					copy(out[i:], n.to)
					i += len(n.to) - 1
					break
				}
			}
		}
	}
	return out
}

// number reads a JSON number, or the object that transformers 5 writes for
// infinities.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil || math.IsInf(f, 0)
	case map[string]any:
		s, _ := v["__float__"].(string)
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	return 0, false
}

// An object reads one JSON object of a configuration. Keys may have aliases:
// the first that is there wins. Faults are collected, so that one message
// tells everything that is wrong.
type object struct {
	file   string
	prefix string // of keys in errors, "text_config."
	m      map[string]any
	faults *Faults
	prov   map[string]string
}

// sub returns the object under a key, or nil.
func (o *object) sub(key string) *object {
	v, ok := o.m[key]
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.bad(key, "an object", v)
		return nil
	}
	return &object{o.file, o.prefix + key + ".", m, o.faults, o.prov}
}

func (o *object) bad(key, want string, got any) {
	b, err := json.Marshal(got)
	if err != nil {
		b = []byte("something else")
	}
	o.faults.add(&ConfigError{File: o.file, Field: o.prefix + key, Want: want, Got: string(b)})
}

// find returns the value of the first key that is there. found is false when
// none is; a JSON null is there, with value nil.
func (o *object) find(field string, keys []string) (v any, key string, found bool) {
	for _, k := range keys {
		if v, ok := o.m[k]; ok {
			o.prov[field] = "file " + o.prefix + k
			return v, k, true
		}
	}
	o.prov[field] = "default"
	return nil, "", false
}

func (o *object) has(key string) bool { _, ok := o.m[key]; return ok }

// int reads a whole number of at most max. A null is zero, which means
// "derive" or "none" where that makes sense and is refused later elsewhere.
func (o *object) int(field string, def, max int, keys ...string) int {
	v, key, ok := o.find(field, keys)
	if !ok {
		return def
	}
	if v == nil {
		return 0
	}
	f, ok := number(v)
	if !ok || f != math.Trunc(f) || f < 0 || f > float64(max) {
		o.bad(key, fmt.Sprintf("a whole number from 0 to %d", max), v)
		return def
	}
	return int(f)
}

// float reads a number; a null is the default.
func (o *object) float(field string, def float64, keys ...string) float32 {
	v, key, ok := o.find(field, keys)
	if !ok || v == nil {
		o.prov[field] = "default"
		return float32(def)
	}
	f, ok := number(v)
	if !ok || math.Abs(f) > math.MaxFloat32 {
		o.bad(key, "a number", v)
		return float32(def)
	}
	return float32(f)
}

// bool reads a truth value; a null is false.
func (o *object) bool(field string, def bool, keys ...string) bool {
	v, key, ok := o.find(field, keys)
	if !ok {
		return def
	}
	b, isBool := v.(bool)
	if !isBool && v != nil {
		o.bad(key, "true or false", v)
	}
	return b
}

// text reads a string; a null is absent.
func (o *object) text(field, def string, keys ...string) string {
	keys2 := keys[:0:0]
	for _, k := range keys {
		if o.m[k] != nil {
			keys2 = append(keys2, k)
		}
	}
	v, key, ok := o.find(field, keys2)
	if !ok {
		return def
	}
	s, isText := v.(string)
	if !isText {
		o.bad(key, "text", v)
	}
	return s
}

// list reads an array with read; ok is false when it is absent or null.
func list[T any](o *object, field, key, want string, read func(any) (T, bool)) (xs []T, ok bool) {
	v, _, found := o.find(field, []string{key})
	if !found || v == nil {
		return nil, false
	}
	a, isList := v.([]any)
	if !isList {
		o.bad(key, "a list of "+want, v)
		return nil, false
	}
	for i, e := range a {
		x, ok := read(e)
		if !ok {
			o.bad(fmt.Sprintf("%s[%d]", key, i), want, e)
			return nil, false
		}
		xs = append(xs, x)
	}
	return xs, true
}

func (o *object) strings(field, key string) ([]string, bool) {
	return list(o, field, key, "text", func(v any) (string, bool) { s, ok := v.(string); return s, ok })
}

func (o *object) floats(field, key string) []float32 {
	xs, _ := list(o, field, key, "a number", func(v any) (float32, bool) {
		f, ok := number(v)
		return float32(f), ok
	})
	return xs
}
