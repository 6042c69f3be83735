package chat

import "cmp"

// Equal is Python's ==.
func (m *Machine) Equal(a, b Value, depth int) (bool, error) {
	if err := m.Step(1); err != nil {
		return false, err
	}
	if depth > nestingLimit {
		return false, errNested()
	}
	if isNumber(a) && isNumber(b) {
		c, ok := numCompare(a, b)
		return ok && c == 0, nil
	}
	if s, ok := text(a); ok {
		t, ok := text(b)
		return ok && m.same(s, t), m.Step(min(len(s), len(t)) / 32)
	}
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case byteString:
		y, ok := b.(byteString)
		return ok && x == y, m.Step(len(x) / 32)
	case *List:
		if y, ok := b.(*List); ok {
			return m.EqualItems(x.Items, y.Items, depth)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return m.EqualItems(x.Items, y.Items, depth)
		}
	case *Map:
		if y, ok := b.(*Map); ok {
			return m.equalMaps(x, y, depth)
		}
	case *intRange:
		if y, ok := b.(*intRange); ok {
			return x.N == y.N && (x.N == 0 || x.Start == y.Start && (x.N == 1 || x.Step == y.Step)), nil
		}
	case *view:
		if y, ok := b.(*view); ok && x.Kind != "values" && y.Kind != "values" {
			return m.equalViews(x, y, depth)
		}
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case bool, int64, float64:
		return false, nil
	}
	return m.Is(a, b)
}

// EqualItems compares two lists item by item; depth counts nesting.
func (m *Machine) EqualItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if eq, err := m.Equal(a[i], b[i], depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

// equalViews compares keys or items as sets: each of a must be in b.
func (m *Machine) equalViews(a, b *view, depth int) (bool, error) {
	if a.M.Len() != b.M.Len() {
		return false, nil
	}
	for i, k := range a.M.Keys {
		x := k
		if a.Kind == "items" {
			x = a.M.Pair(i)
		}
		if b.Kind == "keys" {
			if _, ok, err := m.Lookup(b.M, x); !ok || err != nil {
				return false, err
			}
			continue
		}
		pair, ok := x.(*Tuple)
		if !ok || len(pair.Items) != 2 {
			return false, nil
		}
		v, ok, err := m.Lookup(b.M, pair.Items[0])
		if !ok || err != nil {
			return false, err
		}
		if eq, err := m.Equal(v, pair.Items[1], depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (m *Machine) equalMaps(a, b *Map, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for k, v := range a.All() {
		w, ok, err := m.Lookup(b, k)
		if !ok || err != nil {
			return false, err
		}
		if eq, err := m.Equal(v, w, depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Is is Python's "is". Equal numbers and strings count as one object, as
// CPython's small integers and interned strings do.
func (m *Machine) Is(a, b Value) (bool, error) {
	s, _ := text(a)
	return typeName(a) == typeName(b) && m.identity(a) == m.identity(b), m.Read(s)
}

func (m *Machine) identity(v Value) any {
	switch v := v.(type) {
	case *List, *Tuple, *Map, *intRange, *undefined:
		return v
	}
	k, _ := m.hashKey(v) // an error is for lists, maps and tuples alone
	return k
}

// Order compares two values for < and sorting; kinds that Python does not
// order are an error. unordered is true when NaN is involved.
func (m *Machine) Order(op string, a, b Value, depth int) (c int, unordered bool, err error) {
	if err := m.Step(1); err != nil {
		return 0, false, err
	}
	if depth > nestingLimit {
		return 0, false, errNested()
	}
	if isNumber(a) && isNumber(b) {
		c, ok := numCompare(a, b)
		return c, !ok, nil
	}
	if s, ok := text(a); ok {
		if t, ok := text(b); ok { // the byte order of UTF-8 is that of code points
			return cmp.Compare(m.plain(s), m.plain(t)), false, m.Step(min(len(s), len(t)) / 32)
		}
	}
	if s, ok := a.(byteString); ok {
		if t, ok := b.(byteString); ok {
			return cmp.Compare(s, t), false, m.Step(min(len(s), len(t)) / 32)
		}
	}
	for _, v := range [2]Value{a, b} {
		if u, ok := v.(*undefined); ok {
			return 0, false, u.Err()
		}
	}
	var x, y []Value
	if p, ok := a.(*List); ok {
		if q, ok := b.(*List); ok {
			x, y = p.Items, q.Items
			return m.orderItems(op, x, y, depth)
		}
	}
	if p, ok := a.(*Tuple); ok {
		if q, ok := b.(*Tuple); ok {
			x, y = p.Items, q.Items
			return m.orderItems(op, x, y, depth)
		}
	}
	return 0, false, typeError("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
}

func (m *Machine) orderItems(op string, x, y []Value, depth int) (int, bool, error) {
	for i := range min(len(x), len(y)) {
		eq, err := m.Equal(x[i], y[i], depth+1)
		if err != nil {
			return 0, false, err
		}
		if !eq {
			return m.Order(op, x[i], y[i], depth+1)
		}
	}
	return cmp.Compare(len(x), len(y)), false, nil
}

// Compare evaluates one comparison operator.
func (m *Machine) Compare(op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return m.Equal(a, b, 0)
	case "!=":
		eq, err := m.Equal(a, b, 0)
		return !eq, err
	case "in":
		return m.Contains(b, a)
	case "not in":
		in, err := m.Contains(b, a)
		return !in, err
	}
	c, unordered, err := m.Order(op, a, b, 0)
	if err != nil || unordered {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}
