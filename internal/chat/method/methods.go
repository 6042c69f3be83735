package method

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"atenia/internal/chat/object"
)

var listMethods, tupleMethods, dictMethods map[string]*object.Func

func init() {
	defineStringMethods()
	defineMethods()
}

func defineMethods() {
	listMethods = map[string]*object.Func{
		"index": object.NewPositional("value start? stop?", indexMethod), "count": object.NewPositional("value", countItems),
		"copy": object.NewPositional("", func(_ *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
			return &object.List{Items: x.(*object.List).Items}, nil
		}),
	}
	tupleMethods = map[string]*object.Func{"index": listMethods["index"], "count": listMethods["count"]}
	dictMethods = map[string]*object.Func{
		"get": object.NewPositional("key default?", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
			if v, ok, err := m.Lookup(x.(*object.Map), a[0]); ok || err != nil {
				return v, err
			}
			if a[1] == object.Missing {
				return nil, nil
			}
			return a[1], nil
		}),
		"keys": viewMethod("keys"), "values": viewMethod("values"), "items": viewMethod("items"),
		"copy": object.NewPositional("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
			return x.(*object.Map).Clone(), m.Alloc(64 * x.(*object.Map).Len())
		}),
		"fromkeys": object.NewPositional("iterable value?", fromKeys),
	}
}

func viewMethod(kind string) *object.Func {
	return object.NewFunc("", func(_ *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
		return &object.View{M: x.(*object.Map), Kind: kind}, nil
	})
}

func fromKeys(m *object.Machine, _ object.Value, a []object.Value) (object.Value, error) {
	v := a[1]
	if v == object.Missing {
		v = nil
	}
	d := &object.Map{}
	err := m.Each(a[0], func(k object.Value) (bool, error) { return true, m.Put(d, k, v) })
	return d, err
}

func indexMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	var bounds [3]object.Value
	for i := range 2 {
		if a[i+1] == nil {
			return nil, object.TypeError("slice indices must be integers or have an __index__ method")
		}
		if a[i+1] != object.Missing {
			bounds[i] = a[i+1]
		}
	}
	start, _, _, n, err := sliceBounds(len(items), bounds)
	if err != nil {
		return nil, err
	}
	for i, it := range items[min(start, len(items)):][:n] {
		if eq, err := m.Equal(it, a[0], 0); err != nil {
			return nil, err
		} else if eq {
			return int64(start + i), nil
		}
	}
	s, err := m.Repr(a[0])
	if err != nil {
		return nil, err
	}
	return nil, object.ValueError("%s is not in %s", s, object.TypeName(x))
}

func countItems(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	n := int64(0)
	err := m.Each(x, func(it object.Value) (bool, error) {
		eq, err := m.Equal(it, a[0], 0)
		if eq {
			n++
		}
		return true, err
	})
	return n, err
}

// numberAttr returns an attribute of an int or float.
func numberAttr(m *object.Machine, x object.Value, name string) (object.Value, bool, error) {
	method := func(v func() (object.Value, error)) (object.Value, bool, error) {
		return &object.Function{Name: name, Method: true, Call: func(_ *object.Machine, a *object.Args) (object.Value, error) {
			if _, err := a.Bind(name); err != nil {
				return nil, err
			}
			return v()
		}}, true, nil
	}
	if f, ok := x.(float64); ok {
		switch name {
		case "real":
			return f, true, nil
		case "imag":
			return 0.0, true, nil
		case "conjugate":
			return method(func() (object.Value, error) { return f, nil })
		case "hex":
			return method(func() (object.Value, error) { return hexFloat(f), nil })
		case "as_integer_ratio":
			return method(func() (object.Value, error) { return ratio(f) })
		case "is_integer":
			return method(func() (object.Value, error) { return f == math.Trunc(f) && !math.IsInf(f, 0), nil })
		}
		return nil, false, nil
	}
	i, _ := object.AsInt(x)
	switch name {
	case "real", "numerator":
		return i, true, nil
	case "imag":
		return int64(0), true, nil
	case "denominator":
		return int64(1), true, nil
	case "conjugate":
		return method(func() (object.Value, error) { return i, nil })
	case "as_integer_ratio":
		return method(func() (object.Value, error) { return &object.Tuple{Items: []object.Value{i, int64(1)}}, nil })
	case "bit_length":
		return method(func() (object.Value, error) { return int64(object.ToBig(i).BitLen()), nil })
	case "bit_count":
		return method(func() (object.Value, error) {
			n := int64(0)
			for _, w := range new(big.Int).Abs(object.ToBig(i)).Bits() {
				for ; w != 0; w &= w - 1 {
					n++
				}
			}
			return n, nil
		})
	}
	return nil, false, nil
}

// hexFloat is float.hex, which has no exponent digits to spare and thirteen
// digits behind the point.
func hexFloat(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return object.FormatFloat(f)
	case f == 0:
		return strings.TrimSuffix(object.FormatFloat(f), "0.0") + "0x0.0p+0"
	}
	s := strconv.FormatFloat(f, 'x', 13, 64)
	if math.Abs(f) < 0x1p-1022 { // a subnormal number keeps the exponent of the smallest normal one
		s = strconv.FormatFloat(math.Copysign(math.Abs(f)+0x1p-1022, f), 'x', 13, 64)
		s = strings.Replace(s, "0x1", "0x0", 1)
	}
	mantissa, exponent, _ := strings.Cut(s, "p")
	n, _ := strconv.Atoi(exponent)
	return fmt.Sprintf("%sp%+d", mantissa, n)
}

// ratio is float.as_integer_ratio.
func ratio(f float64) (object.Value, error) {
	if _, err := FloatToInt(f); err != nil {
		return nil, err
	}
	r := new(big.Rat)
	r.SetFloat64(f)
	num, err := object.FromBig(r.Num())
	if err != nil {
		return nil, err
	}
	den, err := object.FromBig(r.Denom())
	return &object.Tuple{Items: []object.Value{num, den}}, err
}

var rangeIndex = object.NewPositional("value", func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	return indexMethod(m, x, []object.Value{a[0], object.Missing, object.Missing})
})

func rangeAttr(r *object.Range, name string) (object.Value, bool, error) {
	switch name {
	case "start":
		return r.Start, true, nil
	case "step":
		return r.Step, true, nil
	case "stop":
		return r.Stop, true, nil
	case "index":
		return boundMethod(nil, name, r, rangeIndex), true, nil
	case "count":
		return boundMethod(nil, name, r, listMethods["count"]), true, nil
	}
	return nil, false, nil
}
