package chat

// globals are the functions every template sees; a variable of the same name
// hides one. The function lipsum is left out: its text is random.
var globals map[string]Value

// maxRange is the sandbox's limit on the length of a range.
const maxRange = 100_000

func defineGlobals() {
	globals = map[string]Value{}
	for name, f := range map[string]func(m *machine, a *callArgs) (Value, error){
		"range": rangeFunc, "dict": dictFunc, "namespace": namespaceFunc, "cycler": cyclerFunc, "joiner": joinerFunc,
		"raise_exception": raiseException, "strftime_now": strftimeNow,
	} {
		globals[name] = &function{name: name, call: f}
	}
}

func rangeFunc(_ *machine, a *callArgs) (Value, error) {
	if len(a.kw) > 0 || len(a.pos) == 0 || len(a.pos) > 3 {
		return nil, typeError("range expected 1 to 3 arguments without names")
	}
	v := [3]int64{0, 0, 1}
	for i, x := range a.pos {
		n, err := argInt("range", x, 0)
		if err != nil {
			return nil, err
		}
		v[i] = int64(n)
	}
	if len(a.pos) == 1 {
		v[0], v[1] = 0, v[0]
	}
	if v[2] == 0 {
		return nil, valueError("range() arg 3 must not be zero")
	}
	const bound = 1 << 60 // keeps the arithmetic below within int64
	for _, x := range v {
		if x > bound || x < -bound {
			return nil, fail(KindOverflow, "range argument out of bounds")
		}
	}
	r := &rng{start: v[0], stop: v[1], step: v[2]}
	if v[2] > 0 && v[1] > v[0] {
		r.n = (v[1]-v[0]-1)/v[2] + 1
	} else if v[2] < 0 && v[1] < v[0] {
		r.n = (v[0]-v[1]-1)/-v[2] + 1
	}
	if r.n > maxRange {
		return nil, fail(KindOverflow, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return r, nil
}

// newDict is Python's dict(mapping or pairs, **kw).
func newDict(m *machine, a *callArgs) (*Map, error) {
	d := &Map{}
	if len(a.pos) > 1 {
		return nil, typeError("dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		if u, ok := a.pos[0].(*undefined); ok {
			return nil, u.err()
		}
		if src, ok := a.pos[0].(*Map); ok {
			for k, v := range src.All() {
				if err := m.put(d, k, v); err != nil {
					return nil, err
				}
			}
		} else if err := m.each(a.pos[0], func(p Value) (bool, error) {
			kv, err := m.collect(p)
			if err == nil && len(kv) != 2 {
				err = valueError("dictionary update sequence element has length %d; 2 is required", len(kv))
			}
			if err != nil {
				return false, err
			}
			return true, m.put(d, kv[0], kv[1])
		}); err != nil {
			return nil, err
		}
	}
	for _, k := range a.kw {
		if err := m.put(d, k.name, k.v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func dictFunc(m *machine, a *callArgs) (Value, error) {
	d, err := newDict(m, a)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func namespaceFunc(m *machine, a *callArgs) (Value, error) {
	d, err := newDict(m, a)
	if err != nil {
		return nil, err
	}
	return &namespace{attrs: d}, nil
}

func cyclerFunc(_ *machine, a *callArgs) (Value, error) {
	if len(a.kw) > 0 {
		return nil, typeError("cycler() takes no keyword arguments")
	}
	if len(a.pos) == 0 {
		return nil, valueError("at least one item has to be provided")
	}
	return &cycler{items: a.pos}, nil
}

func joinerFunc(_ *machine, a *callArgs) (Value, error) {
	v, err := a.bind("joiner", "sep?")
	if err != nil {
		return nil, err
	}
	if v[0] == missing {
		v[0] = ", "
	}
	return &joiner{sep: v[0]}, nil
}

func raiseException(m *machine, a *callArgs) (Value, error) {
	v, err := a.bind("raise_exception", "message")
	if err != nil {
		return nil, err
	}
	s, err := m.str(v[0])
	if err != nil {
		return nil, err
	}
	return nil, &RaiseError{Message: s}
}

func strftimeNow(m *machine, a *callArgs) (Value, error) {
	v, err := a.bind("strftime_now", "format")
	if err != nil {
		return nil, err
	}
	f, ok := text(v[0])
	if !ok {
		return nil, typeError("strftime() argument 1 must be str, not %s", typeName(v[0]))
	}
	if m.now.IsZero() {
		m.now = clock()
	}
	s, err := m.strftime(m.now, f)
	if err != nil {
		return nil, err
	}
	return s, m.alloc(len(s))
}
