package chat

import (
	"strings"
	"unicode/utf8"
)

// An iterator is a lazy sequence that can be read once, like the generators
// that map, select and other filters return in Python.
type iterator struct {
	next func() (v Value, ok bool, err error)
	rest int // values still to come, where known from the start; else -1
}

func sliceIterator(items []Value) *iterator {
	i := 0
	return &iterator{rest: len(items), next: func() (Value, bool, error) {
		if i >= len(items) {
			return nil, false, nil
		}
		i++
		return items[i-1], true, nil
	}}
}

// generator hides the length of it, as a Python generator does.
func generator(next func() (Value, bool, error)) *iterator {
	return &iterator{rest: -1, next: next}
}

// iterate is Python's iter().
func (m *machine) iterate(v Value) (*iterator, error) {
	switch v := v.(type) {
	case *List:
		return sliceIterator(v.Items), nil
	case *Tuple:
		return sliceIterator(v.Items), nil
	case string:
		return runes(v), nil
	case markup:
		return runes(string(v)), nil
	case *Map:
		return sliceIterator(v.keys), nil
	case *view:
		switch v.kind {
		case "keys":
			return sliceIterator(v.m.keys), nil
		case "values":
			return sliceIterator(v.m.vals), nil
		}
		i := 0
		return &iterator{rest: v.m.Len(), next: func() (Value, bool, error) {
			if i >= v.m.Len() {
				return nil, false, nil
			}
			i++
			return v.m.pair(i - 1), true, m.alloc(32)
		}}, nil
	case *rng:
		i := int64(0)
		return &iterator{rest: int(v.n), next: func() (Value, bool, error) {
			if i >= v.n {
				return nil, false, nil
			}
			i++
			return v.start + (i-1)*v.step, true, nil
		}}, nil
	case *undefined:
		return sliceIterator(nil), nil
	case *iterator:
		return v, nil
	}
	return nil, typeError("'%s' object is not iterable", typeName(v))
}

func runes(s string) *iterator {
	return &iterator{rest: utf8.RuneCountInString(s), next: func() (Value, bool, error) {
		if s == "" {
			return nil, false, nil
		}
		_, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		s = s[n:]
		return c, true, nil
	}}
}

// each calls f with every value until it returns false.
func (m *machine) each(v Value, f func(Value) (bool, error)) error {
	it, err := m.iterate(v)
	if err != nil {
		return err
	}
	for {
		if err := m.step(1); err != nil {
			return err
		}
		x, ok, err := it.next()
		if err != nil || !ok {
			return err
		}
		if more, err := f(x); err != nil || !more {
			return err
		}
	}
}

// collect is Python's list(v). The result may share memory with v.
func (m *machine) collect(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *Tuple:
		return v.Items, nil
	}
	var items []Value
	err := m.each(v, func(x Value) (bool, error) {
		items = append(items, x)
		return true, m.alloc(16)
	})
	return items, err
}

// contains is Python's "x in v".
func (m *machine) contains(v, x Value) (bool, error) {
	switch v := v.(type) {
	case string, markup:
		s, _ := text(v)
		t, ok := text(x)
		if !ok {
			return false, typeError("'in <string>' requires string as left operand, not %s", typeName(x))
		}
		return strings.Contains(s, t), m.step(len(s) / 32)
	case *Map:
		return m.hasKey(v, x)
	case *view:
		if v.kind == "keys" {
			return m.hasKey(v.m, x)
		}
	case *rng:
		if i, ok := asInt(x); ok {
			n, small := i.(int64)
			if !small || v.n == 0 {
				return false, nil
			}
			d := n - v.start
			return d%v.step == 0 && d/v.step >= 0 && d/v.step < v.n, nil
		}
	case *List, *Tuple, *undefined, *iterator:
	default:
		return false, typeError("argument of type '%s' is not iterable", typeName(v))
	}
	found := false
	err := m.each(v, func(y Value) (bool, error) {
		eq, err := m.equal(y, x, 0)
		found = eq
		return !eq, err
	})
	return found, err
}

func (m *machine) hasKey(d *Map, k Value) (bool, error) {
	if _, err := hashKey(k); err != nil {
		return false, err
	}
	_, ok := d.Get(k)
	return ok, nil
}
