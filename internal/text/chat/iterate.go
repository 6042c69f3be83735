package chat

import (
	"strings"
	"unicode/utf8"
)

// An Iterator is a lazy sequence that can be read once, like the generators
// that map, select and other filters return in Python.
type Iterator struct {
	next func() (v Value, ok bool, err error)
	Rest int // values still to come, where known from the start; else -1
}

// Next returns the next value. Lazy sequences made of lazy sequences, or that
// yield themselves, are followed only so deep.
func (it *Iterator) Next(m *Machine) (v Value, ok bool, err error) {
	if err := m.Enter(); err != nil {
		return nil, false, err
	}
	v, ok, err = it.next()
	m.Leave()
	return v, ok, err
}

// iterateOver is the iterator over a list.
func iterateOver(items []Value) *Iterator {
	i := 0
	return &Iterator{Rest: len(items), next: func() (Value, bool, error) {
		if i >= len(items) {
			return nil, false, nil
		}
		i++
		return items[i-1], true, nil
	}}
}

// generator hides the length of it, as a Python generator does.
func generator(next func() (Value, bool, error)) *Iterator {
	return &Iterator{Rest: -1, next: next}
}

// Iterate is Python's iter().
func (m *Machine) Iterate(v Value) (*Iterator, error) {
	switch v := v.(type) {
	case *List:
		return iterateOver(v.Items), nil
	case *Tuple:
		return iterateOver(v.Items), nil
	case string:
		return runes(m, v), m.Scan(v)
	case Markup:
		return runes(m, string(v)), m.Scan(string(v))
	case byteString:
		i := 0
		return &Iterator{Rest: len(v), next: func() (Value, bool, error) {
			if i >= len(v) {
				return nil, false, nil
			}
			i++
			return int64(v[i-1]), true, nil
		}}, nil
	case *Map:
		return iterateOver(v.Keys), nil
	case *view:
		switch v.Kind {
		case "keys":
			return iterateOver(v.M.Keys), nil
		case "values":
			return iterateOver(v.M.Vals), nil
		}
		i := 0
		return &Iterator{Rest: v.M.Len(), next: func() (Value, bool, error) {
			if i >= v.M.Len() {
				return nil, false, nil
			}
			i++
			return v.M.Pair(i - 1), true, m.Alloc(32)
		}}, nil
	case *intRange:
		i := int64(0)
		return &Iterator{Rest: int(v.N), next: func() (Value, bool, error) {
			if i >= v.N {
				return nil, false, nil
			}
			i++
			return v.Start + (i-1)*v.Step, true, nil
		}}, nil
	case *undefined:
		return iterateOver(nil), nil
	case *Iterator:
		return v, nil
	}
	return nil, typeError("'%s' object is not iterable", typeName(v))
}

func runes(m *Machine, s string) *Iterator {
	return &Iterator{Rest: utf8.RuneCountInString(s), next: func() (Value, bool, error) {
		if s == "" {
			return nil, false, nil
		}
		_, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		s = s[n:]
		return c, true, m.Alloc(16)
	}}
}

// Each calls f with every value until it returns false.
func (m *Machine) Each(v Value, f func(Value) (bool, error)) error {
	it, err := m.Iterate(v)
	if err != nil {
		return err
	}
	for {
		x, ok, err := it.Next(m)
		if err != nil || !ok {
			return err
		}
		if more, err := f(x); err != nil || !more {
			return err
		}
	}
}

// valueBytes is what a value in a list that grows costs.
const valueBytes = 48

// Collect is Python's list(v). The result may share memory with v.
func (m *Machine) Collect(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *Tuple:
		return v.Items, nil
	}
	var items []Value
	err := m.Each(v, func(x Value) (bool, error) {
		items = append(items, x)
		return true, m.Alloc(valueBytes)
	})
	return items, err
}

// Contains is Python's "x in v".
func (m *Machine) Contains(v, x Value) (bool, error) {
	switch v := v.(type) {
	case string, Markup:
		s, _ := text(v)
		t, ok := text(x)
		if !ok {
			return false, typeError("'in <string>' requires string as left operand, not %s", typeName(x))
		}
		return strings.Contains(m.plain(s), m.plain(t)), m.Step(len(s) / 32)
	case byteString:
		if t, ok := x.(byteString); ok {
			return strings.Contains(string(v), string(t)), m.Step(len(v) / 32)
		}
		n, ok := smallInt(x)
		if !ok {
			return false, typeError("a bytes-like object is required, not '%s'", typeName(x))
		}
		if n < 0 || n > 255 {
			return false, valueError("byte must be in range(0, 256)")
		}
		return strings.IndexByte(string(v), byte(n)) >= 0, m.Step(len(v) / 32)
	case *Map:
		_, ok, err := m.Lookup(v, x)
		return ok, err
	case *view:
		if v.Kind == "keys" {
			return m.Contains(v.M, x)
		}
	case *intRange:
		if i, ok := asInt(x); ok {
			n, small := i.(int64)
			if !small || v.N == 0 {
				return false, nil
			}
			d := n - v.Start
			return d%v.Step == 0 && d/v.Step >= 0 && d/v.Step < v.N, nil
		}
	case *List, *Tuple, *undefined, *Iterator:
	default:
		return false, typeError("argument of type '%s' is not iterable", typeName(v))
	}
	found := false
	err := m.Each(v, func(y Value) (bool, error) {
		eq, err := m.Equal(y, x, 0)
		found = eq
		return !eq, err
	})
	return found, err
}

// Lookup is Map.Get, charged for; what cannot be a key is an error.
func (m *Machine) Lookup(d *Map, key Value) (Value, bool, error) {
	k, err := m.Hash(key)
	if err != nil {
		return nil, false, err
	}
	v, ok := d.get(k)
	return v, ok, nil
}

// Put is Map.Set, charged for.
func (m *Machine) Put(d *Map, key, v Value) error {
	k, err := m.Hash(key)
	if err != nil {
		return err
	}
	s, _ := text(key)
	if err := m.Alloc(64 + len(s)); err != nil {
		return err
	}
	d.set(k, key, v)
	return nil
}

// Join concatenates two lists.
func (m *Machine) Join(a, b []Value) ([]Value, error) {
	if err := m.Alloc(16 * (len(a) + len(b))); err != nil {
		return nil, err
	}
	return append(append(make([]Value, 0, len(a)+len(b)), a...), b...), nil
}
