package chat

import (
	"math/big"
)

// tests holds the tests of Jinja 3.1 by name.
var tests map[string]*functionType

func defineTests() {
	is := func(f func(x Value) bool) *functionType {
		return makeFunc("", func(_ *Machine, x Value, _ []Value) (Value, error) { return f(x), nil })
	}
	comparison := func(op string) *functionType {
		return newPositional("other", func(m *Machine, x Value, a []Value) (Value, error) {
			ok, err := m.Compare(op, x, a[0])
			return ok, err
		})
	}
	remainder := func(want int64) *functionType {
		return makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
			return remainderIs(m, x, int64(2), want)
		})
	}
	cased := func(f func(string) bool) *functionType {
		return makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
			s, err := m.Str(x)
			if err != nil {
				return nil, err
			}
			if err := m.Scan(s); err != nil {
				return nil, err
			}
			return f(m.plain(s)), nil
		})
	}
	named := func(table *map[string]*functionType) *functionType {
		return makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
			if _, err := m.Hash(x); err != nil {
				return nil, err
			}
			s, _ := text(x)
			return (*table)[s] != nil, nil
		})
	}
	isUndefined := func(x Value) bool { _, ok := x.(*undefined); return ok }
	tests = map[string]*functionType{
		"odd": remainder(1), "even": remainder(0),
		"divisibleby": makeFunc("num", func(m *Machine, x Value, a []Value) (Value, error) {
			return remainderIs(m, x, a[0], 0)
		}),
		"defined": is(func(x Value) bool { return !isUndefined(x) }), "undefined": is(isUndefined),
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
		"sequence": is(isSequence), "iterable": is(isIterable), "callable": is(isCallable),
		"escaped": is(func(x Value) bool { _, ok := x.(Markup); return ok }),
		"lower":   cased(isLowerString), "upper": cased(isUpperString),
		"filter": named(&filters), "test": named(&tests),
		"sameas": makeFunc("other", func(m *Machine, x Value, a []Value) (Value, error) {
			is, err := m.Is(x, a[0])
			return is, err
		}),
		"in": makeFunc("seq", func(m *Machine, x Value, a []Value) (Value, error) {
			ok, err := m.Contains(a[0], x)
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

// remainderIs tests x % n == want.
func remainderIs(m *Machine, x, n Value, want int64) (Value, error) {
	r, err := binary(m, "%", x, n)
	if err != nil {
		return nil, err
	}
	eq, err := m.Equal(r, want, 0)
	return eq, err
}

func isSequence(x Value) bool {
	switch x.(type) {
	case string, Markup, byteString, *List, *Tuple, *Map, *intRange, *undefined:
		return true
	}
	return false
}

func isIterable(x Value) bool {
	switch x.(type) {
	case *view, *Iterator, sized:
		return true
	}
	return isSequence(x)
}
