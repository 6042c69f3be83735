package chat

import (
	"strings"
	"unicode/utf8"
)

// translate is str.translate: each character by its code in a table.
func translate(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	if _, sized := length(a[0]); !sized && s != "" {
		return nil, typeError("'%s' object is not subscriptable", typeName(a[0]))
	}
	var b strings.Builder
	for _, r := range s {
		v, ok, err := itemOf(m, a[0], int64(m.mark(r)))
		if err != nil {
			return nil, err
		}
		t, isText := text(v)
		code, isCode := smallInt(v)
		switch {
		case !ok:
			t = string(r)
		case isText || v == nil:
		case isCode && code >= 0 && code <= utf8.MaxRune:
			t = string(rune(code))
		case isCode:
			return nil, valueError("character mapping must be in range(0x110000)")
		default:
			return nil, typeError("character mapping must return integer, None or str")
		}
		if err := m.Alloc(len(t) + 1); err != nil {
			return nil, err
		}
		b.WriteString(t)
	}
	return like(x, b.String()), nil
}

// makeTranslation is str.maketrans: a table for translate, from a dict or from
// characters and their replacements; those in a third text are deleted.
func makeTranslation(m *Machine, _ Value, a []Value) (Value, error) {
	table := &Map{}
	if a[1] == missing {
		d, ok := a[0].(*Map)
		if !ok {
			return nil, typeError("if you give only one argument to maketrans it must be a dict")
		}
		for k, v := range d.All() {
			s, isText := text(k)
			s = m.plain(s)
			r, n := utf8.DecodeRuneInString(s)
			if isText && (s == "" || n != len(s)) {
				return nil, valueError("string keys in translate table must be of length 1")
			}
			if isText {
				k = int64(r)
			} else if _, ok := asInt(k); !ok {
				return nil, typeError("keys in translate table must be strings or integers")
			}
			if err := m.Put(table, k, v); err != nil {
				return nil, err
			}
		}
		return table, nil
	}
	var t [3][]rune
	for i, v := range a {
		s, ok := text(v)
		if !ok && v != missing {
			return nil, typeError("maketrans() argument %d must be str, not %s", i+1, typeName(v))
		}
		if err := m.Alloc(4 * len(s)); err != nil {
			return nil, err
		}
		t[i] = []rune(s)
	}
	if len(t[0]) != len(t[1]) {
		return nil, valueError("the first two maketrans arguments must have equal length")
	}
	for i, r := range t[0] {
		if err := m.Put(table, int64(r), int64(t[1][i])); err != nil {
			return nil, err
		}
	}
	for _, r := range t[2] {
		if err := m.Put(table, int64(r), nil); err != nil {
			return nil, err
		}
	}
	return table, nil
}
