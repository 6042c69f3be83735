package chat

import (
	"math"
	"math/big"
)

var listMethods, tupleMethods, dictMethods map[string]*filter

func defineMethods() {
	listMethods = map[string]*filter{
		"index": method("value start? stop?", indexMethod), "count": method("value", countItems),
		"copy": method("", func(_ *machine, x Value, _ []Value) (Value, error) { return &List{Items: x.(*List).Items}, nil }),
	}
	tupleMethods = map[string]*filter{"index": listMethods["index"], "count": listMethods["count"]}
	dictMethods = map[string]*filter{
		"get": method("key default?", func(m *machine, x Value, a []Value) (Value, error) {
			if _, err := hashKey(a[0]); err != nil {
				return nil, err
			}
			if v, ok := x.(*Map).Get(a[0]); ok {
				return v, nil
			}
			if a[1] == missing {
				return nil, nil
			}
			return a[1], nil
		}),
		"keys": viewMethod("keys"), "values": viewMethod("values"), "items": viewMethod("items"),
		"copy": method("", func(m *machine, x Value, _ []Value) (Value, error) {
			return x.(*Map).clone(), m.alloc(64 * x.(*Map).Len())
		}),
		"fromkeys": method("iterable value?", fromKeys),
	}
}

func viewMethod(kind string) *filter {
	return def("", func(_ *machine, x Value, _ []Value) (Value, error) { return &view{x.(*Map), kind}, nil })
}

func fromKeys(m *machine, _ Value, a []Value) (Value, error) {
	v := a[1]
	if v == missing {
		v = nil
	}
	d := &Map{}
	err := m.each(a[0], func(k Value) (bool, error) { return true, m.put(d, k, v) })
	return d, err
}

func indexMethod(m *machine, x Value, a []Value) (Value, error) {
	items, err := m.collect(x)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i := range 2 {
		if a[i+1] != missing {
			bounds[i] = a[i+1]
		}
	}
	start, _, _, n, err := sliceBounds(len(items), bounds)
	if err != nil {
		return nil, err
	}
	for i, it := range items[min(start, len(items)):][:n] {
		if eq, err := m.equal(it, a[0], 0); err != nil {
			return nil, err
		} else if eq {
			return int64(start + i), nil
		}
	}
	s, err := m.reprOf(a[0])
	if err != nil {
		return nil, err
	}
	return nil, valueError("%s is not in %s", s, typeName(x))
}

func countItems(m *machine, x Value, a []Value) (Value, error) {
	n := int64(0)
	err := m.each(x, func(it Value) (bool, error) {
		eq, err := m.equal(it, a[0], 0)
		if eq {
			n++
		}
		return true, err
	})
	return n, err
}

// numberAttr returns an attribute of an int or float.
func (m *machine) numberAttr(x Value, name string) (Value, bool, error) {
	method := func(v func() (Value, error)) (Value, bool, error) {
		return &function{name: name, method: true, call: func(_ *machine, a *callArgs) (Value, error) {
			if _, err := a.bind(name); err != nil {
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
		case "is_integer":
			return method(func() (Value, error) { return f == math.Trunc(f) && !math.IsInf(f, 0), nil })
		}
		return nil, false, nil
	}
	i, _ := asInt(x)
	switch name {
	case "real", "numerator":
		return i, true, nil
	case "imag":
		return int64(0), true, nil
	case "denominator":
		return int64(1), true, nil
	case "conjugate":
		return method(func() (Value, error) { return i, nil })
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

func (r *rng) attr(_ *machine, name string) (Value, bool, error) {
	switch name {
	case "start":
		return r.start, true, nil
	case "step":
		return r.step, true, nil
	case "stop":
		return r.stop, true, nil
	case "index":
		return &function{name: name, method: true, call: func(m *machine, a *callArgs) (Value, error) {
			return listMethods["index"].apply(m, name, r, &callArgs{pos: append(a.pos[:len(a.pos):len(a.pos)], nil, nil)[:max(len(a.pos), 1)], kw: a.kw})
		}}, true, nil
	case "count":
		return boundMethod(nil, name, r, listMethods["count"]), true, nil
	}
	return nil, false, nil
}

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "items":
		return &Tuple{Items: c.items}, true
	case "pos":
		return int64(c.pos), true
	case "current":
		return c.items[c.pos], true
	case "next", "reset":
		return &function{name: name, method: true, call: func(_ *machine, a *callArgs) (Value, error) {
			if _, err := a.bind(name); err != nil {
				return nil, err
			}
			if name == "reset" {
				c.pos = 0
				return nil, nil
			}
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v, nil
		}}, true
	}
	return nil, false
}
