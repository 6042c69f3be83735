package chat

import (
	"math/big"
	"slices"
	"strings"
)

// binary computes a op b as Python does, Markup and undefined values included.
func binary(m *Machine, op string, a, b Value) (Value, error) {
	if isNumber(a) && isNumber(b) {
		v, err := arith(op, a, b)
		if err != nil {
			return nil, err
		}
		return v, m.Step(bigWork(a) + bigWork(b) + bigWork(v))
	}
	if u, ok := a.(*undefined); ok {
		return nil, u.Err()
	}
	if s, ok := text(a); ok && op == "%" {
		return percent(m, a, s, b)
	}
	if u, ok := b.(*undefined); ok {
		return nil, u.Err()
	}
	if _, ok := a.(byteString); ok && op == "%" {
		return nil, fail(kindName, "formatting bytes with %% is not supported")
	}
	switch op {
	case "+":
		if v, ok, err := addValues(m, a, b); ok || err != nil {
			return v, err
		}
	case "*":
		for _, p := range [2][2]Value{{a, b}, {b, a}} {
			if n, ok := smallInt(p[1]); ok {
				if v, ok, err := repeatValue(m, p[0], n); ok || err != nil {
					return v, err
				}
			}
		}
	}
	return nil, typeError("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
}

// addValues concatenates strings, lists or tuples.
func addValues(m *Machine, a, b Value) (v Value, ok bool, err error) {
	switch x := a.(type) {
	case string, Markup:
		s, _ := text(a)
		t, ok := text(b)
		if !ok {
			return nil, false, typeError(`can only concatenate str (not "%s") to str`, typeName(b))
		}
		_, aSafe := a.(Markup)
		_, bSafe := b.(Markup)
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
			return Markup(s + t), true, nil
		}
		return s + t, true, nil
	case byteString:
		y, ok := b.(byteString)
		if !ok {
			return nil, false, typeError("can't concat %s to bytes", typeName(b))
		}
		return x + y, true, m.Alloc(len(x) + len(y))
	case *List:
		if y, ok := b.(*List); ok {
			items, err := m.Join(x.Items, y.Items)
			return &List{Items: items}, true, err
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			items, err := m.Join(x.Items, y.Items)
			return &Tuple{Items: items}, true, err
		}
	}
	return nil, false, nil
}

// bigWork is what computing with an integer beyond int64 costs.
func bigWork(v Value) int {
	if b, ok := v.(*big.Int); ok {
		return b.BitLen() / 8
	}
	return 0
}

// repeatValue is a sequence times n.
func repeatValue(m *Machine, a Value, n int64) (v Value, ok bool, err error) {
	n = max(n, 0)
	switch x := a.(type) {
	case string, Markup:
		s, _ := text(a)
		if err := m.AllocEach(n, len(s)); err != nil || s == "" {
			return like(a, ""), true, err
		}
		return like(a, strings.Repeat(s, int(n))), true, nil
	case byteString:
		if err := m.AllocEach(n, len(x)); err != nil || x == "" {
			return byteString(""), true, err
		}
		return byteString(strings.Repeat(string(x), int(n))), true, nil
	case *List:
		items, err := repeatItems(m, x.Items, n)
		return &List{Items: items}, true, err
	case *Tuple:
		items, err := repeatItems(m, x.Items, n)
		return &Tuple{Items: items}, true, err
	}
	return nil, false, nil
}

func repeatItems(m *Machine, items []Value, n int64) ([]Value, error) {
	if err := m.AllocEach(n, 16*len(items)); err != nil || len(items) == 0 {
		return nil, err
	}
	return slices.Repeat(items, int(n)), nil
}
