package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"atenia/internal/compile/pyjson"
)

// parseConfig reads a config.json.
func parseConfig(file string, b []byte) (map[string]any, error) {
	m, err := pyjson.Parse(b)
	if s, ok := errors.AsType[*pyjson.SyntaxError](err); ok {
		return nil, &ConfigError{File: file, Line: s.Line, Column: s.Column, Want: "a JSON object", Got: s.Msg}
	}
	return m, err
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
	o.faults.Add(&ConfigError{File: o.file, Field: o.prefix + key, Want: want, Got: string(b)})
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
	f, ok := pyjson.Number(v)
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
	f, ok := pyjson.Number(v)
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
		f, ok := pyjson.Number(v)
		return float32(f), ok
	})
	return xs
}
