package method

import (
	"math/big"
	"slices"
	"strings"

	"atenia/internal/chat/object"
)

// Binary computes a op b as Python does, Markup and undefined values included.
func Binary(m *object.Machine, op string, a, b object.Value) (object.Value, error) {
	if object.IsNumber(a) && object.IsNumber(b) {
		v, err := object.Arith(op, a, b)
		if err != nil {
			return nil, err
		}
		return v, m.Step(bigWork(a) + bigWork(b) + bigWork(v))
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
		for _, p := range [2][2]object.Value{{a, b}, {b, a}} {
			if n, ok := object.SmallInt(p[1]); ok {
				if v, ok, err := repeatValue(m, p[0], n); ok || err != nil {
					return v, err
				}
			}
		}
	}
	return nil, object.TypeError("unsupported operand type(s) for %s: '%s' and '%s'", op, object.TypeName(a), object.TypeName(b))
}

// addValues concatenates strings, lists or tuples.
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
			t, err = m.EscapeText(t)
		case bSafe && !aSafe:
			s, err = m.EscapeText(s)
		}
		if err != nil {
			return nil, false, err
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

// bigWork is what computing with an integer beyond int64 costs.
func bigWork(v object.Value) int {
	if b, ok := v.(*big.Int); ok {
		return b.BitLen() / 8
	}
	return 0
}

// repeatValue is a sequence times n.
func repeatValue(m *object.Machine, a object.Value, n int64) (v object.Value, ok bool, err error) {
	n = max(n, 0)
	switch x := a.(type) {
	case string, object.Markup:
		s, _ := object.Text(a)
		if err := m.AllocEach(n, len(s)); err != nil || s == "" {
			return object.Like(a, ""), true, err
		}
		return object.Like(a, strings.Repeat(s, int(n))), true, nil
	case *object.List:
		items, err := repeatItems(m, x.Items, n)
		return &object.List{Items: items}, true, err
	case *object.Tuple:
		items, err := repeatItems(m, x.Items, n)
		return &object.Tuple{Items: items}, true, err
	}
	return nil, false, nil
}

func repeatItems(m *object.Machine, items []object.Value, n int64) ([]object.Value, error) {
	if err := m.AllocEach(n, 16*len(items)); err != nil || len(items) == 0 {
		return nil, err
	}
	return slices.Repeat(items, int(n)), nil
}
