package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nestingLimit bounds how deep values are followed, as Python's recursion limit does.
const nestingLimit = 900

// errNested is the error for values that are nested too deeply.
func errNested() error { return fail(kindLimit, "values nested deeper than %d", nestingLimit) }

// Str is Python's str(): what {{ v }} prints.
func (m *Machine) Str(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case Markup:
		return string(v), nil
	case *undefined:
		return "", nil
	case int64, *big.Int, float64: // no text that somebody said
		s, err := m.Repr(v)
		return m.dye(s), err
	}
	return m.Repr(v)
}

// Repr is Python's repr().
func (m *Machine) Repr(v Value) (string, error) {
	p := reprWriter{m: m}
	if err := p.value(v, 0); err != nil {
		return "", err
	}
	return p.b.String(), nil
}

type reprWriter struct {
	m      *Machine
	b      strings.Builder
	active map[*Map]bool // namespaces being printed: one may hold itself
}

func (p *reprWriter) write(s string) error {
	p.b.WriteString(s)
	return p.m.Alloc(len(s))
}

func (p *reprWriter) value(v Value, depth int) error {
	if depth > nestingLimit {
		return errNested()
	}
	switch v := v.(type) {
	case nil:
		return p.write("None")
	case bool:
		if v {
			return p.write("True")
		}
		return p.write("False")
	case int64:
		return p.write(strconv.FormatInt(v, 10))
	case *big.Int:
		return p.write(v.String())
	case float64:
		return p.write(formatFloat(v))
	case string:
		if err := p.m.Alloc(len(v)); err != nil {
			return err
		}
		return p.write(p.m.reprText(v))
	case Markup:
		return p.write("Markup(" + p.m.reprText(string(v)) + ")")
	case *List:
		return p.items("[", "]", v.Items, depth)
	case *Tuple:
		if len(v.Items) == 1 {
			return p.items("(", ",)", v.Items, depth)
		}
		return p.items("(", ")", v.Items, depth)
	case *Map:
		return p.dict(v, depth)
	case *namespace:
		if err := p.write("<Namespace "); err != nil {
			return err
		}
		if p.active[v.Attrs] {
			return p.write("{...}>")
		}
		if p.active == nil {
			p.active = map[*Map]bool{}
		}
		p.active[v.Attrs] = true
		if err := p.dict(v.Attrs, depth); err != nil {
			return err
		}
		delete(p.active, v.Attrs)
		return p.write(">")
	case *view:
		return p.view(v, depth)
	case *undefined:
		return p.write("Undefined")
	case *intRange:
		if v.Step == 1 {
			return p.write(fmt.Sprintf("range(%d, %d)", v.Start, v.Stop))
		}
		return p.write(fmt.Sprintf("range(%d, %d, %d)", v.Start, v.Stop, v.Step))
	case printer:
		s, err := v.Repr(p.m)
		if err != nil {
			return err
		}
		return p.write(s)
	}
	return p.write(opaque(v))
}

// opaque represents values that Python prints with their address, on which no
// template can rely.
func opaque(v Value) string {
	switch v := v.(type) {
	case *function:
		if v.Method {
			return "<built-in method " + v.Name + ">"
		}
		return "<function " + v.Name + ">"
	case *Iterator:
		return "<generator object>"
	}
	return "<" + typeName(v) + " object>"
}

func (p *reprWriter) items(open, end string, items []Value, depth int) error {
	if err := p.write(open); err != nil {
		return err
	}
	for i, it := range items {
		if i > 0 {
			if err := p.write(", "); err != nil {
				return err
			}
		}
		if err := p.value(it, depth+1); err != nil {
			return err
		}
	}
	return p.write(end)
}

func (p *reprWriter) dict(d *Map, depth int) error {
	if err := p.write("{"); err != nil {
		return err
	}
	for i := range d.Len() {
		if i > 0 {
			if err := p.write(", "); err != nil {
				return err
			}
		}
		if err := p.value(d.Keys[i], depth+1); err != nil {
			return err
		}
		if err := p.write(": "); err != nil {
			return err
		}
		if err := p.value(d.Vals[i], depth+1); err != nil {
			return err
		}
	}
	return p.write("}")
}

func (p *reprWriter) view(v *view, depth int) error {
	items := v.M.Keys
	switch v.Kind {
	case "values":
		items = v.M.Vals
	case "items":
		items = make([]Value, v.M.Len())
		for i := range items {
			items[i] = v.M.Pair(i)
		}
	}
	return p.items("dict_"+v.Kind+"([", "])", items, depth)
}

// formatFloat is float.__repr__: the shortest digits that read back, with an
// exponent below 1e-4 and from 1e16.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// repr is str.__repr__: single quotes unless only those occur inside.
func repr(s string) string { return plainly.reprText(s) }

// reprText is Repr of a text of the rendering.
func (m *Machine) reprText(s string) string {
	quote := byte('\'')
	if p := m.plain(s); strings.Contains(p, "'") && !strings.Contains(p, `"`) {
		quote = '"'
	}
	return string(quote) + m.through(s, func(s string) string { return quoted(s, quote) }) + string(quote)
}

// quoted returns what is between the quotes of a text.
func quoted(s string, quote byte) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == ' ' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, escape(r)...)
		}
	}
	return string(b)
}

// escape is the Python escape of a character.
func escape(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
