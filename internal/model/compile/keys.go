package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// parseConfig reads a config.json.
func parseConfig(file string, b []byte) (map[string]any, error) {
	m, err := parsePyJSON(b)
	if s, ok := errors.AsType[*pySyntaxError](err); ok {
		return nil, &configError{File: file, Line: s.Line, Column: s.Column, Want: "a JSON object", Got: s.Msg}
	}
	return m, err
}

// An Object reads one JSON object of a configuration. A key may have aliases:
// the first that exists wins. Faults are collected, so that all are reported at
// once.
type Object struct {
	File   string
	Prefix string // of keys in errors, "text_config."
	M      map[string]any
	Faults *List
	Prov   map[string]string // field → where its value comes from
}

// Sub returns the object under a key, or nil.
func (o *Object) Sub(key string) *Object {
	v, ok := o.M[key]
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.Bad(key, "an object", v)
		return nil
	}
	return &Object{o.File, o.Prefix + key + ".", m, o.Faults, o.Prov}
}

// Bad adds a fault of an entry.
func (o *Object) Bad(key, want string, got any) {
	b, err := json.Marshal(got)
	if err != nil {
		b = []byte("something else")
	}
	o.Faults.Add(&configError{File: o.File, Field: o.Prefix + key, Want: want, Got: string(b)})
}

// Find returns the value of the first key that exists. found is false if none
// does; a JSON null exists and has the value nil.
func (o *Object) Find(field string, keys []string) (v any, key string, found bool) {
	for _, k := range keys {
		if v, ok := o.M[k]; ok {
			o.Prov[field] = "file " + o.Prefix + k
			return v, k, true
		}
	}
	o.Prov[field] = "default"
	return nil, "", false
}

// Has reports whether a key exists.
func (o *Object) Has(key string) bool { _, ok := o.M[key]; return ok }

// Int reads an integer of at most max. A null is zero, which means "derive" or
// "none" where that makes sense and is rejected later elsewhere.
func (o *Object) Int(field string, def, max int, keys ...string) int {
	v, key, ok := o.Find(field, keys)
	if !ok {
		return def
	}
	if v == nil {
		return 0
	}
	f, ok := pyNumber(v)
	if !ok || f != math.Trunc(f) || f < 0 || f > float64(max) {
		o.Bad(key, fmt.Sprintf("a whole number from 0 to %d", max), v)
		return def
	}
	return int(f)
}

// Float reads a number; a null selects the default.
func (o *Object) Float(field string, def float64, keys ...string) float32 {
	v, key, ok := o.Find(field, keys)
	if !ok || v == nil {
		o.Prov[field] = "default"
		return float32(def)
	}
	f, ok := pyNumber(v)
	if !ok || math.Abs(f) > math.MaxFloat32 {
		o.Bad(key, "a number", v)
		return float32(def)
	}
	return float32(f)
}

// Bool reads a boolean; a null is false.
func (o *Object) Bool(field string, def bool, keys ...string) bool {
	v, key, ok := o.Find(field, keys)
	if !ok {
		return def
	}
	b, isBool := v.(bool)
	if !isBool && v != nil {
		o.Bad(key, "true or false", v)
	}
	return b
}

// Text reads a string; a null counts as missing.
func (o *Object) Text(field, def string, keys ...string) string {
	keys2 := keys[:0:0]
	for _, k := range keys {
		if o.M[k] != nil {
			keys2 = append(keys2, k)
		}
	}
	v, key, ok := o.Find(field, keys2)
	if !ok {
		return def
	}
	s, isText := v.(string)
	if !isText {
		o.Bad(key, "text", v)
	}
	return s
}

// listOf reads an array with read; ok is false if it is missing or null.
func listOf[T any](o *Object, field, key, want string, read func(any) (T, bool)) (xs []T, ok bool) {
	v, _, found := o.Find(field, []string{key})
	if !found || v == nil {
		return nil, false
	}
	a, isList := v.([]any)
	if !isList {
		o.Bad(key, "a list of "+want, v)
		return nil, false
	}
	for i, e := range a {
		x, ok := read(e)
		if !ok {
			o.Bad(fmt.Sprintf("%s[%d]", key, i), want, e)
			return nil, false
		}
		xs = append(xs, x)
	}
	return xs, true
}

// Strings reads a list of strings.
func (o *Object) Strings(field, key string) ([]string, bool) {
	return listOf(o, field, key, "text", func(v any) (string, bool) { s, ok := v.(string); return s, ok })
}

// Floats reads a list of numbers.
func (o *Object) Floats(field, key string) []float32 {
	xs, _ := listOf(o, field, key, "a number", func(v any) (float32, bool) {
		f, ok := pyNumber(v)
		return float32(f), ok
	})
	return xs
}
