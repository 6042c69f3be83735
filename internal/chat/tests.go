package chat

import "math/big"

// tests holds the tests of Jinja 3.1 by name.
var tests map[string]*filter

func defineTests() {
	is := func(f func(x Value) bool) *filter {
		return def("", func(_ *machine, x Value, _ []Value) (Value, error) { return f(x), nil })
	}
	comparison := func(op string) *filter {
		return def("other", func(m *machine, x Value, a []Value) (Value, error) {
			ok, err := m.compare(op, x, a[0])
			return ok, err
		})
	}
	remainder := func(want int64) *filter {
		return def("", func(m *machine, x Value, _ []Value) (Value, error) { return m.remainder(x, int64(2), want) })
	}
	cased := func(f func(string) bool) *filter {
		return def("", func(m *machine, x Value, _ []Value) (Value, error) {
			s, err := m.str(x)
			return f(s), err
		})
	}
	named := func(table *map[string]*filter) *filter {
		return def("", func(_ *machine, x Value, _ []Value) (Value, error) {
			if _, err := hashKey(x); err != nil {
				return nil, err
			}
			s, _ := text(x)
			return (*table)[s] != nil, nil
		})
	}
	isUndefined := func(x Value) bool { _, ok := x.(*undefined); return ok }
	tests = map[string]*filter{
		"odd": remainder(1), "even": remainder(0),
		"divisibleby": def("num", func(m *machine, x Value, a []Value) (Value, error) { return m.remainder(x, a[0], 0) }),
		"defined":     is(func(x Value) bool { return !isUndefined(x) }), "undefined": is(isUndefined),
		"none": is(func(x Value) bool { return x == nil }), "boolean": is(func(x Value) bool { _, ok := x.(bool); return ok }),
		"true": is(func(x Value) bool { return x == true }), "false": is(func(x Value) bool { return x == false }),
		"integer": is(func(x Value) bool {
			switch x.(type) {
			case int64, *big.Int:
				return true
			}
			return false
		}),
		"float": is(func(x Value) bool { _, ok := x.(float64); return ok }), "number": is(isNumber),
		"string":   is(func(x Value) bool { _, ok := text(x); return ok }),
		"mapping":  is(func(x Value) bool { _, ok := x.(*Map); return ok }),
		"sequence": is(isSequence), "iterable": is(isIterable), "callable": is(callable),
		"escaped": is(func(x Value) bool { _, ok := x.(markup); return ok }),
		"lower":   cased(isLower), "upper": cased(isUpper),
		"filter": named(&filters), "test": named(&tests),
		"sameas": def("other", func(_ *machine, x Value, a []Value) (Value, error) { return same(x, a[0]), nil }),
		"in": def("seq", func(m *machine, x Value, a []Value) (Value, error) {
			ok, err := m.contains(a[0], x)
			return ok, err
		}),
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"},
		"<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, n := range names {
			tests[n] = comparison(op)
		}
	}
}

// remainder tests x % n == want.
func (m *machine) remainder(x, n Value, want int64) (Value, error) {
	r, err := m.binary("%", x, n)
	if err != nil {
		return nil, err
	}
	eq, err := m.equal(r, want, 0)
	return eq, err
}

func isSequence(x Value) bool {
	switch x.(type) {
	case string, markup, *List, *Tuple, *Map, *rng, *undefined:
		return true
	}
	return false
}

func isIterable(x Value) bool {
	switch x.(type) {
	case *view, *iterator, *loop:
		return true
	}
	return isSequence(x)
}
