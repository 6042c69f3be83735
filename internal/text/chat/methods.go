package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

var listMethods, tupleMethods, dictMethods map[string]*functionType

// The tables of the library name functions that look names up in the tables,
// so literals would be an initialization cycle. Filters take methods, and tests
// are filters' arguments: the order counts.
func init() {
	defineStringMethods()
	defineBytes()
	defineMethods()
	defineTests()
	defineFilters()
	defineGlobals()
	markTraced()
}

func defineMethods() {
	listMethods = map[string]*functionType{
		"index": newPositional("value start? stop?", indexMethod), "count": newPositional("value", countItems),
		"copy": newPositional("", func(_ *Machine, x Value, _ []Value) (Value, error) {
			return &List{Items: x.(*List).Items}, nil
		}),
	}
	tupleMethods = map[string]*functionType{"index": listMethods["index"], "count": listMethods["count"]}
	dictMethods = map[string]*functionType{
		"get": newPositional("key default?", func(m *Machine, x Value, a []Value) (Value, error) {
			if v, ok, err := m.Lookup(x.(*Map), a[0]); ok || err != nil {
				return v, err
			}
			if a[1] == missing {
				return nil, nil
			}
			return a[1], nil
		}),
		"keys": viewMethod("keys"), "values": viewMethod("values"), "items": viewMethod("items"),
		"copy": newPositional("", func(m *Machine, x Value, _ []Value) (Value, error) {
			return x.(*Map).Clone(), m.Alloc(64 * x.(*Map).Len())
		}),
		"fromkeys": newPositional("iterable value?", fromKeys),
	}
}

func viewMethod(kind string) *functionType {
	return makeFunc("", func(_ *Machine, x Value, _ []Value) (Value, error) {
		return &view{M: x.(*Map), Kind: kind}, nil
	})
}

func fromKeys(m *Machine, _ Value, a []Value) (Value, error) {
	v := a[1]
	if v == missing {
		v = nil
	}
	d := &Map{}
	err := m.Each(a[0], func(k Value) (bool, error) { return true, m.Put(d, k, v) })
	return d, err
}

func indexMethod(m *Machine, x Value, a []Value) (Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i := range 2 {
		if a[i+1] == nil {
			return nil, typeError("slice indices must be integers or have an __index__ method")
		}
		if a[i+1] != missing {
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
	return nil, valueError("%s is not in %s", s, typeName(x))
}

func countItems(m *Machine, x Value, a []Value) (Value, error) {
	n := int64(0)
	err := m.Each(x, func(it Value) (bool, error) {
		eq, err := m.Equal(it, a[0], 0)
		if eq {
			n++
		}
		return true, err
	})
	return n, err
}

// numberAttr returns an attribute of an int or float.
func numberAttr(m *Machine, x Value, name string) (Value, bool, error) {
	method := func(v func() (Value, error)) (Value, bool, error) {
		return &function{Name: name, Method: true, Call: func(_ *Machine, a *Args) (Value, error) {
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
			return method(func() (Value, error) { return f, nil })
		case "hex":
			return method(func() (Value, error) { return hexFloat(f), nil })
		case "as_integer_ratio":
			return method(func() (Value, error) { return ratio(f) })
		case "is_integer":
			return method(func() (Value, error) { return f == math.Trunc(f) && !math.IsInf(f, 0), nil })
		}
		return nil, false, nil
	}
	i, _ := asInt(x)
	switch name {
	case "to_bytes":
		return boundMethod(m, name, x, makeFunc("length? byteorder? signed?", toBytes)), true, nil
	case "from_bytes":
		return boundMethod(m, name, x, makeFunc("bytes byteorder? signed?", fromBytes)), true, nil
	case "real", "numerator":
		return i, true, nil
	case "imag":
		return int64(0), true, nil
	case "denominator":
		return int64(1), true, nil
	case "conjugate":
		return method(func() (Value, error) { return i, nil })
	case "as_integer_ratio":
		return method(func() (Value, error) { return &Tuple{Items: []Value{i, int64(1)}}, nil })
	case "bit_length":
		return method(func() (Value, error) { return int64(toBig(i).BitLen()), nil })
	case "bit_count":
		return method(func() (Value, error) {
			n := int64(0)
			for _, w := range new(big.Int).Abs(toBig(i)).Bits() {
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
		return formatFloat(f)
	case f == 0:
		return strings.TrimSuffix(formatFloat(f), "0.0") + "0x0.0p+0"
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
func ratio(f float64) (Value, error) {
	if _, err := floatToInt(f); err != nil {
		return nil, err
	}
	r := new(big.Rat)
	r.SetFloat64(f)
	num, err := fromBig(r.Num())
	if err != nil {
		return nil, err
	}
	den, err := fromBig(r.Denom())
	return &Tuple{Items: []Value{num, den}}, err
}

var rangeIndex = newPositional("value", func(m *Machine, x Value, a []Value) (Value, error) {
	return indexMethod(m, x, []Value{a[0], missing, missing})
})

func rangeAttr(r *intRange, name string) (Value, bool, error) {
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
