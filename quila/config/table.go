package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// An Entry is a name of the configuration, as [Config.Entries] lists it.
type Entry struct {
	Name   string `json:"name"`
	Group  string `json:"group"`
	Value  string `json:"value"`  // its text in JSON
	Source string `json:"source"` // spec, measured, start, or config for a value that is not the profile's
}

// A field is what a struct field's tags say.
type field struct {
	name, group, source, limits string
	index                       int
}

// always reports whether the text form has the key whatever its value.
func (f field) always() bool { return f.group == "shape" || f.group == "options" }

// fields are the tags of Config, in the order of declaration.
var fields = func() (list []field) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		q := strings.SplitN(t.Field(i).Tag.Get("q"), " ", 3)
		f := field{name: t.Field(i).Tag.Get("json"), group: q[0], source: q[1], index: i}
		if len(q) == 3 {
			f.limits = q[2]
		}
		list = append(list, f)
	}
	return list
}()

// Entries lists every name with its value and source, in the order of the
// groups. A value that differs from the profile's has the source config.
func (c *Config) Entries() []Entry {
	base := c.base()
	var list []Entry
	v, b := reflect.ValueOf(c).Elem(), reflect.ValueOf(&base).Elem()
	for _, f := range fields {
		e := Entry{Name: f.name, Group: f.group, Value: string(value(v.Field(f.index))), Source: f.source}
		if !v.Field(f.index).Equal(b.Field(f.index)) {
			e.Source = "config"
		}
		list = append(list, e)
	}
	return list
}

// base is the profile that a configuration names, or the values that all
// profiles share.
func (c *Config) base() Config {
	p, err := Profile(c.Name)
	if err != nil {
		p = common()
		p.Name = c.Name
	}
	return p
}

// value is the canonical JSON of a value: floats have a point or an exponent,
// as Python prints them.
func value(v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Float64:
		return number(v.Float())
	case reflect.Array:
		out := []byte{'['}
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, value(v.Index(i))...)
		}
		return append(out, ']')
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Append(nil, v.Interface())
	}
	return b
}

// number writes the shortest decimal that reads back, positional between 1e-4
// and 1e16 as Python's repr does.
func number(x float64) []byte {
	s := strconv.FormatFloat(x, 'e', -1, 64)
	_, exp, _ := strings.Cut(s, "e")
	if e, _ := strconv.Atoi(exp); e < -4 || e >= 16 {
		return []byte(s)
	}
	s = strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return []byte(s)
}
