package chat

import "cmp"

// equal is Python's ==.
func (m *machine) equal(a, b Value, depth int) (bool, error) {
	if err := m.step(1); err != nil {
		return false, err
	}
	if depth > maxNesting {
		return false, errNested()
	}
	if isNumber(a) && isNumber(b) {
		c, ok := numCompare(a, b)
		return ok && c == 0, nil
	}
	if s, ok := text(a); ok {
		t, ok := text(b)
		if !ok || len(s) != len(t) {
			return false, nil
		}
		return s == t, m.step(len(s) / 32)
	}
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case *List:
		if y, ok := b.(*List); ok {
			return m.equalItems(x.Items, y.Items, depth)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return m.equalItems(x.Items, y.Items, depth)
		}
	case *Map:
		if y, ok := b.(*Map); ok {
			return m.equalMaps(x, y, depth)
		}
	case *rng:
		if y, ok := b.(*rng); ok {
			return x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step)), nil
		}
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case bool, int64, float64:
		return false, nil
	}
	return same(a, b), nil
}

func (m *machine) equalItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if eq, err := m.equal(a[i], b[i], depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (m *machine) equalMaps(a, b *Map, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for k, v := range a.All() {
		w, ok := b.Get(k)
		if !ok {
			return false, nil
		}
		if eq, err := m.equal(v, w, depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

// same is Python's "is". Equal numbers and strings count as one object, as
// CPython's small integers and interned strings do.
func same(a, b Value) bool {
	if typeName(a) != typeName(b) {
		return false
	}
	ha, err := hashIdentity(a)
	if err != nil {
		return false
	}
	hb, err := hashIdentity(b)
	return err == nil && ha == hb
}

func hashIdentity(v Value) (any, error) {
	switch v := v.(type) {
	case *List, *Tuple, *Map, *rng, *undefined:
		return v, nil
	}
	return hashKey(v)
}

// order compares two values for < and sorting; kinds that Python does not
// order are an error. unordered is true when NaN is involved.
func (m *machine) order(op string, a, b Value, depth int) (c int, unordered bool, err error) {
	if err := m.step(1); err != nil {
		return 0, false, err
	}
	if depth > maxNesting {
		return 0, false, errNested()
	}
	if isNumber(a) && isNumber(b) {
		c, ok := numCompare(a, b)
		return c, !ok, nil
	}
	if s, ok := text(a); ok {
		if t, ok := text(b); ok { // the byte order of UTF-8 is that of code points
			return cmp.Compare(s, t), false, m.step(min(len(s), len(t)) / 32)
		}
	}
	for _, v := range [2]Value{a, b} {
		if u, ok := v.(*undefined); ok {
			return 0, false, u.err()
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

func (m *machine) orderItems(op string, x, y []Value, depth int) (int, bool, error) {
	for i := range min(len(x), len(y)) {
		eq, err := m.equal(x[i], y[i], depth+1)
		if err != nil {
			return 0, false, err
		}
		if !eq {
			return m.order(op, x[i], y[i], depth+1)
		}
	}
	return cmp.Compare(len(x), len(y)), false, nil
}

// compare evaluates one comparison operator.
func (m *machine) compare(op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return m.equal(a, b, 0)
	case "!=":
		eq, err := m.equal(a, b, 0)
		return !eq, err
	case "in":
		return m.contains(b, a)
	case "not in":
		in, err := m.contains(b, a)
		return !in, err
	}
	c, unordered, err := m.order(op, a, b, 0)
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
