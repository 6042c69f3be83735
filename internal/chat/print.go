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

// maxNesting bounds how deep values are followed, as Python's recursion limit does.
const maxNesting = 900

func errNested() error { return fail(KindLimit, "values nested deeper than %d", maxNesting) }

// str is Python's str(): what {{ v }} prints.
func (m *machine) str(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case *undefined:
		return "", nil
	case *blockRef:
		return "<BlockReference>", nil
	}
	return m.reprOf(v)
}

// reprOf is Python's repr().
func (m *machine) reprOf(v Value) (string, error) {
	p := printer{m: m}
	if err := p.value(v, 0); err != nil {
		return "", err
	}
	return p.b.String(), nil
}

type printer struct {
	m      *machine
	b      strings.Builder
	active map[*Map]bool // namespaces being printed: one may hold itself
}

func (p *printer) write(s string) error {
	p.b.WriteString(s)
	return p.m.alloc(len(s))
}

func (p *printer) value(v Value, depth int) error {
	if depth > maxNesting {
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
		if err := p.m.alloc(len(v)); err != nil {
			return err
		}
		return p.write(repr(v))
	case markup:
		return p.write("Markup(" + repr(string(v)) + ")")
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
		if p.active[v.attrs] {
			return p.write("{...}>")
		}
		if p.active == nil {
			p.active = map[*Map]bool{}
		}
		p.active[v.attrs] = true
		if err := p.dict(v.attrs, depth); err != nil {
			return err
		}
		delete(p.active, v.attrs)
		return p.write(">")
	case *view:
		return p.view(v, depth)
	case *undefined:
		return p.write("Undefined")
	case *rng:
		if v.step == 1 {
			return p.write(fmt.Sprintf("range(%d, %d)", v.start, v.stop))
		}
		return p.write(fmt.Sprintf("range(%d, %d, %d)", v.start, v.stop, v.step))
	case *loop:
		n, err := v.length(p.m)
		if err != nil {
			return err
		}
		return p.write(fmt.Sprintf("<LoopContext %d/%d>", v.index0+1, n))
	case *templateRef:
		return p.write("<TemplateReference None>")
	}
	return p.write(opaque(v))
}

// opaque stands for values that Python prints with their address, which no
// template can rely on.
func opaque(v Value) string {
	switch v := v.(type) {
	case *macro:
		if v.def.name == "" {
			return "<Macro anonymous>"
		}
		return "<Macro " + repr(v.def.name) + ">"
	case *function:
		if v.method {
			return "<built-in method " + v.name + ">"
		}
		return "<function " + v.name + ">"
	case *iterator:
		return "<generator object>"
	}
	return "<" + typeName(v) + " object>"
}

func (p *printer) items(open, end string, items []Value, depth int) error {
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

func (p *printer) dict(d *Map, depth int) error {
	if err := p.write("{"); err != nil {
		return err
	}
	for i := range d.Len() {
		if i > 0 {
			if err := p.write(", "); err != nil {
				return err
			}
		}
		if err := p.value(d.keys[i], depth+1); err != nil {
			return err
		}
		if err := p.write(": "); err != nil {
			return err
		}
		if err := p.value(d.vals[i], depth+1); err != nil {
			return err
		}
	}
	return p.write("}")
}

func (p *printer) view(v *view, depth int) error {
	items := v.m.keys
	switch v.kind {
	case "values":
		items = v.m.vals
	case "items":
		items = make([]Value, v.m.Len())
		for i := range items {
			items[i] = v.m.pair(i)
		}
	}
	return p.items("dict_"+v.kind+"([", "])", items, depth)
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
func repr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := make([]byte, 0, len(s)+2)
	b = append(b, quote)
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
			b = append(b, pyEscape(r)...)
		}
	}
	return string(append(b, quote))
}
