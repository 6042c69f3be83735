package filter

import (
	"math/big"

	"atenia/internal/chat/method"
	"atenia/internal/chat/object"
)

// Tests holds the tests of Jinja 3.1 by name.
var Tests map[string]*object.Func

func defineTests() {
	is := func(f func(x object.Value) bool) *object.Func {
		return object.NewFunc("", func(_ *object.Machine, x object.Value, _ []object.Value) (object.Value, error) { return f(x), nil })
	}
	comparison := func(op string) *object.Func {
		return object.NewPositional("other", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
			ok, err := m.Compare(op, x, a[0])
			return ok, err
		})
	}
	remainder := func(want int64) *object.Func {
		return object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
			return remainderIs(m, x, int64(2), want)
		})
	}
	cased := func(f func(string) bool) *object.Func {
		return object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
			s, err := m.Str(x)
			if err != nil {
				return nil, err
			}
			return f(s), m.Read(s)
		})
	}
	named := func(table *map[string]*object.Func) *object.Func {
		return object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
			if _, err := m.Hash(x); err != nil {
				return nil, err
			}
			s, _ := object.Text(x)
			return (*table)[s] != nil, nil
		})
	}
	isUndefined := func(x object.Value) bool { _, ok := x.(*object.Undefined); return ok }
	Tests = map[string]*object.Func{
		"odd": remainder(1), "even": remainder(0),
		"divisibleby": object.NewFunc("num", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
			return remainderIs(m, x, a[0], 0)
		}),
		"defined": is(func(x object.Value) bool { return !isUndefined(x) }), "undefined": is(isUndefined),
		"none": is(func(x object.Value) bool { return x == nil }), "boolean": is(func(x object.Value) bool { _, ok := x.(bool); return ok }),
		"true": is(func(x object.Value) bool { return x == true }), "false": is(func(x object.Value) bool { return x == false }),
		"integer": is(func(x object.Value) bool {
			switch x.(type) {
			case int64, *big.Int:
				return true
			}
			return false
		}),
		"float": is(func(x object.Value) bool { _, ok := x.(float64); return ok }), "number": is(object.IsNumber),
		"string":   is(func(x object.Value) bool { _, ok := object.Text(x); return ok }),
		"mapping":  is(func(x object.Value) bool { _, ok := x.(*object.Map); return ok }),
		"sequence": is(isSequence), "iterable": is(isIterable), "callable": is(object.IsCallable),
		"escaped": is(func(x object.Value) bool { _, ok := x.(object.Markup); return ok }),
		"lower":   cased(object.IsLower), "upper": cased(object.IsUpper),
		"filter": named(&Table), "test": named(&Tests),
		"sameas": object.NewFunc("other", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
			is, err := m.Is(x, a[0])
			return is, err
		}),
		"in": object.NewFunc("seq", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
			ok, err := m.Contains(a[0], x)
			return ok, err
		}),
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"},
		"<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, n := range names {
			Tests[n] = comparison(op)
		}
	}
}

// remainder tests x % n == want.
func remainderIs(m *object.Machine, x, n object.Value, want int64) (object.Value, error) {
	r, err := method.Binary(m, "%", x, n)
	if err != nil {
		return nil, err
	}
	eq, err := m.Equal(r, want, 0)
	return eq, err
}

func isSequence(x object.Value) bool {
	switch x.(type) {
	case string, object.Markup, *object.List, *object.Tuple, *object.Map, *object.Range, *object.Undefined:
		return true
	}
	return false
}

func isIterable(x object.Value) bool {
	switch x.(type) {
	case *object.View, *object.Iterator, object.Sized:
		return true
	}
	return isSequence(x)
}
