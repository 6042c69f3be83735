package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A JSONError says where JSON is malformed.
type JSONError struct {
	Offset int64 // in bytes
	Err    error
}

func (e *JSONError) Error() string { return fmt.Sprintf("json at byte %d: %v", e.Offset, e.Err) }
func (e *JSONError) Unwrap() error { return e.Err }

// DecodeJSON reads one JSON value. Objects become a [*Map] in the order of the
// text, numbers with ".", "e" or "E" float64, others integers.
func DecodeJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("text after the value")
		}
	}
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &JSONError{d.InputOffset(), err}
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested deeper than %d", maxNesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return parseNumber(string(t))
	case json.Delim:
		if t == '[' {
			l := &List{}
			for d.More() {
				v, err := decodeValue(d, depth+1)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err = d.Token()
			return l, err
		}
		m := &Map{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			if err := m.Set(k, v); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	}
	return t, nil // string, bool, nil
}

func parseNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, err
		}
		return f, nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if len(s) > maxDigits {
		return nil, fmt.Errorf("number of %d digits, at most %d", len(s), maxDigits)
	}
	b, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("bad number %q", s)
	}
	return b, nil
}

// ValueOf converts plain Go data: what is a [Value] already, integers, floats,
// []any, []string, []map[string]any, map[string]any (keys in sorted order) and
// [json.Number], at any depth.
func ValueOf(v any) (Value, error) { return valueOf(v, 0) }

func valueOf(v any, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, errNested()
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *big.Int, *List, *Tuple, *Map:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case json.Number:
		return parseNumber(string(v))
	case []any:
		return listOf(v, depth)
	case []string:
		return listOf(v, depth)
	case []map[string]any:
		return listOf(v, depth)
	case []*Map:
		return listOf(v, depth)
	case map[string]any:
		m := &Map{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x, err := valueOf(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			if err := m.Set(k, x); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, typeError("a %T cannot be passed to a template", v)
}

func listOf[T any](s []T, depth int) (Value, error) {
	l := &List{Items: make([]Value, len(s))}
	for i, x := range s {
		v, err := valueOf(x, depth+1)
		if err != nil {
			return nil, err
		}
		l.Items[i] = v
	}
	return l, nil
}

// A dumper writes JSON as Python's json.dumps does.
type dumper struct {
	m         *machine
	b         strings.Builder
	indent    string
	multiline bool
	comma     string
	colon     string
	ascii     bool
	sortKeys  bool
}

// tojson is the filter of transformers, not of Jinja: nothing is escaped for
// HTML, keys keep their order and characters their form.
func tojson(m *machine, x Value, a []Value) (Value, error) {
	d := &dumper{m: m, comma: ", ", colon: ": ", ascii: a[0] != missing && truth(a[0]), sortKeys: a[3] != missing && truth(a[3])}
	if a[1] != missing && a[1] != nil {
		d.multiline, d.comma = true, ","
		if s, ok := text(a[1]); ok {
			d.indent = s
		} else {
			n, err := argInt("tojson", a[1], 0)
			if err != nil {
				return nil, err
			}
			if n > 1000 {
				return nil, fail(KindLimit, "indent above 1000")
			}
			d.indent = strings.Repeat(" ", max(n, 0))
		}
	}
	if a[2] != missing && a[2] != nil {
		seps, err := m.collect(a[2])
		if err != nil {
			return nil, err
		}
		if len(seps) != 2 {
			return nil, valueError("separators: want 2 strings, got %d", len(seps))
		}
		var ok1, ok2 bool
		d.comma, ok1 = text(seps[0])
		d.colon, ok2 = text(seps[1])
		if !ok1 || !ok2 {
			return nil, typeError("separators must be strings")
		}
	}
	if err := d.value(x, 0); err != nil {
		return nil, err
	}
	return d.b.String(), nil
}

func (d *dumper) write(s string) error {
	d.b.WriteString(s)
	return d.m.alloc(len(s))
}

func (d *dumper) newline(depth int) error {
	if !d.multiline {
		return nil
	}
	if err := d.m.alloc(depth * len(d.indent)); err != nil {
		return err
	}
	d.b.WriteByte('\n')
	for range depth {
		d.b.WriteString(d.indent)
	}
	return nil
}

func (d *dumper) value(v Value, depth int) error {
	if depth > maxNesting {
		return errNested()
	}
	switch v := v.(type) {
	case nil:
		return d.write("null")
	case bool:
		if v {
			return d.write("true")
		}
		return d.write("false")
	case int64:
		return d.write(strconv.FormatInt(v, 10))
	case *big.Int:
		return d.write(v.String())
	case float64:
		return d.write(jsonFloat(v))
	case string, markup:
		s, _ := text(v)
		return d.text(s)
	case *List:
		return d.list(v.Items, depth)
	case *Tuple:
		return d.list(v.Items, depth)
	case *Map:
		return d.object(v, depth)
	}
	return typeError("Object of type %s is not JSON serializable", typeName(v))
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return formatFloat(f)
}

func (d *dumper) list(items []Value, depth int) error {
	if len(items) == 0 {
		return d.write("[]")
	}
	if err := d.write("["); err != nil {
		return err
	}
	for i, it := range items {
		if err := d.separate(i, depth); err != nil {
			return err
		}
		if err := d.value(it, depth+1); err != nil {
			return err
		}
	}
	if err := d.newline(depth); err != nil {
		return err
	}
	return d.write("]")
}

func (d *dumper) separate(i, depth int) error {
	if i > 0 {
		if err := d.write(d.comma); err != nil {
			return err
		}
	}
	return d.newline(depth + 1)
}

func (d *dumper) object(o *Map, depth int) error {
	if o.Len() == 0 {
		return d.write("{}")
	}
	if err := d.write("{"); err != nil {
		return err
	}
	order := make([]int, o.Len())
	for i := range order {
		order[i] = i
	}
	if d.sortKeys {
		var err error
		if order, err = d.m.sortBy(o.keys, false); err != nil {
			return err
		}
	}
	for i, j := range order {
		if err := d.separate(i, depth); err != nil {
			return err
		}
		key, err := d.key(o.keys[j])
		if err != nil {
			return err
		}
		if err := d.text(key); err != nil {
			return err
		}
		if err := d.write(d.colon); err != nil {
			return err
		}
		if err := d.value(o.vals[j], depth+1); err != nil {
			return err
		}
	}
	if err := d.newline(depth); err != nil {
		return err
	}
	return d.write("}")
}

func (d *dumper) key(k Value) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case markup:
		return string(k), nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case *big.Int:
		return k.String(), nil
	case float64:
		return jsonFloat(k), nil
	}
	return "", typeError("keys must be str, int, float, bool or None, not %s", typeName(k))
}

func (d *dumper) text(s string) error {
	if err := d.m.alloc(len(s) + 2); err != nil {
		return err
	}
	b := &d.b
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ' || d.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		case d.ascii && r >= utf8.RuneSelf:
			r -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return nil
}
