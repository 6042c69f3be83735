package method

import (
	"strings"

	"atenia/internal/chat/object"
)

// Binary computes a op b as Python does, Markup and undefined values included.
func Binary(m *object.Machine, op string, a, b object.Value) (object.Value, error) {
	if object.IsNumber(a) && object.IsNumber(b) {
		return object.Arith(op, a, b)
	}
	if u, ok := a.(*object.Undefined); ok {
		return nil, u.Err()
	}
	if s, ok := object.Text(a); ok && op == "%" {
		return Percent(m, a, s, b)
	}
	if u, ok := b.(*object.Undefined); ok {
		return nil, u.Err()
	}
	switch op {
	case "+":
		if v, ok, err := addValues(m, a, b); ok || err != nil {
			return v, err
		}
	case "*":
		if n, ok := object.SmallInt(b); ok {
			if v, ok, err := repeatValue(m, a, n); ok || err != nil {
				return v, err
			}
		}
		if n, ok := object.SmallInt(a); ok {
			if v, ok, err := repeatValue(m, b, n); ok || err != nil {
				return v, err
			}
		}
	}
	return nil, object.TypeError("unsupported operand type(s) for %s: '%s' and '%s'", op, object.TypeName(a), object.TypeName(b))
}

// add concatenates strings, lists or tuples.
func addValues(m *object.Machine, a, b object.Value) (v object.Value, ok bool, err error) {
	switch x := a.(type) {
	case string, object.Markup:
		s, _ := object.Text(a)
		t, ok := object.Text(b)
		if !ok {
			return nil, false, object.TypeError(`can only concatenate str (not "%s") to str`, object.TypeName(b))
		}
		_, aSafe := a.(object.Markup)
		_, bSafe := b.(object.Markup)
		if err := m.Alloc(len(s) + len(t)); err != nil {
			return nil, false, err
		}
		switch {
		case aSafe && !bSafe:
			t = object.HTMLEscaper.Replace(t)
		case bSafe && !aSafe:
			s = object.HTMLEscaper.Replace(s)
		}
		if aSafe || bSafe {
			return object.Markup(s + t), true, nil
		}
		return s + t, true, nil
	case *object.List:
		if y, ok := b.(*object.List); ok {
			items, err := m.Join(x.Items, y.Items)
			return &object.List{Items: items}, true, err
		}
	case *object.Tuple:
		if y, ok := b.(*object.Tuple); ok {
			items, err := m.Join(x.Items, y.Items)
			return &object.Tuple{Items: items}, true, err
		}
	}
	return nil, false, nil
}

// repeat is a sequence times n.
func repeatValue(m *object.Machine, a object.Value, n int64) (v object.Value, ok bool, err error) {
	n = max(n, 0)
	size := func(unit int) error {
		if unit > 0 && n > m.Limits.Bytes/int64(unit) {
			return object.Fail(object.KindLimit, "more than %d bytes of intermediate values", m.Limits.Bytes)
		}
		return m.Alloc(unit * int(n))
	}
	switch x := a.(type) {
	case string, object.Markup:
		s, _ := object.Text(a)
		if err := size(len(s)); err != nil || s == "" {
			return object.Like(a, ""), true, err
		}
		return object.Like(a, strings.Repeat(s, int(n))), true, nil
	case *object.List:
		if err := size(16 * len(x.Items)); err != nil {
			return nil, false, err
		}
		return &object.List{Items: repeatItems(x.Items, n)}, true, nil
	case *object.Tuple:
		if err := size(16 * len(x.Items)); err != nil {
			return nil, false, err
		}
		return &object.Tuple{Items: repeatItems(x.Items, n)}, true, nil
	}
	return nil, false, nil
}

func repeatItems(items []object.Value, n int64) []object.Value {
	if len(items) == 0 {
		return nil
	}
	out := make([]object.Value, 0, len(items)*int(n))
	for range n {
		out = append(out, items...)
	}
	return out
}
