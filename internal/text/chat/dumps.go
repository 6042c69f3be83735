package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A dumper writes JSON as Python's json.dumps does.
type dumper struct {
	m         *Machine
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
func tojson(m *Machine, x Value, a []Value) (Value, error) {
	d := &dumper{m: m, comma: ", ", colon: ": ", ascii: a[0] != missing && truth(a[0]), sortKeys: a[3] != missing && truth(a[3])}
	if a[1] != missing && a[1] != nil {
		d.multiline, d.comma = true, ","
		if s, ok := text(a[1]); ok {
			d.indent = s
		} else {
			n, err := intArg("tojson", a[1], 0)
			if err != nil {
				return nil, err
			}
			if n > 1000 {
				return nil, fail(kindLimit, "indent above 1000")
			}
			d.indent = strings.Repeat(" ", max(n, 0))
		}
	}
	if a[2] != missing && a[2] != nil {
		seps, err := m.Collect(a[2])
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
	return d.m.Alloc(len(s))
}

func (d *dumper) newline(depth int) error {
	if !d.multiline {
		return nil
	}
	if err := d.m.Alloc(depth * len(d.indent)); err != nil {
		return err
	}
	d.b.WriteByte('\n')
	for range depth {
		d.b.WriteString(d.indent)
	}
	return nil
}

func (d *dumper) value(v Value, depth int) error {
	if depth > nestingLimit {
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
	case string, Markup:
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
		if order, err = sortBy(d.m, o.Keys, false); err != nil {
			return err
		}
	}
	for i, j := range order {
		if err := d.separate(i, depth); err != nil {
			return err
		}
		key, err := d.key(o.Keys[j])
		if err != nil {
			return err
		}
		if err := d.text(key); err != nil {
			return err
		}
		if err := d.write(d.colon); err != nil {
			return err
		}
		if err := d.value(o.Vals[j], depth+1); err != nil {
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
	case Markup:
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
	if err := d.write(`"`); err != nil {
		return err
	}
	for run, ours := range d.m.runs(s) {
		if !ours {
			if err := d.quote(run); err != nil {
				return err
			}
			continue
		}
		alone := dumper{m: d.m, ascii: d.ascii}
		if err := alone.quote(run); err != nil {
			return err
		}
		if err := d.write(d.m.dye(alone.b.String())); err != nil {
			return err
		}
	}
	return d.write(`"`)
}

// quote writes what is between the quotes of a string of JSON.
func (d *dumper) quote(s string) error {
	// Escapes make a byte six; the buffer doubles as it grows.
	n := 0
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r >= '\b' && r <= '\r' && r != 11:
			n += 2
		case r < ' ' || d.ascii && r >= 0x7f && r < 0x10000:
			n += 6
		case d.ascii && r >= utf8.RuneSelf:
			n += 12
		default:
			n += utf8.RuneLen(r)
		}
	}
	if err := d.m.Alloc(n); err != nil {
		return err
	}
	if err := d.m.Step(n / 4); err != nil {
		return err
	}
	b := &d.b
	b.Grow(n)
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
	return nil
}
