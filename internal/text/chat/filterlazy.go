package chat

// later iterates over x from the first read on; a value that cannot be iterated
// over fails only then.
func later(m *Machine, x Value) *Iterator {
	return lazily(func() (func() (Value, bool, error), error) {
		it, err := m.Iterate(x)
		if err != nil {
			return nil, err
		}
		return func() (Value, bool, error) { return it.Next(m) }, nil
	})
}

// lazily is the generator that f yields on first use.
func lazily(f func() (func() (Value, bool, error), error)) *Iterator {
	var next func() (Value, bool, error)
	return generator(func() (_ Value, _ bool, err error) {
		if next == nil {
			if next, err = f(); err != nil {
				return nil, false, err
			}
		}
		return next()
	})
}

func nothing() (Value, bool, error) { return nil, false, nil }

func mapFilter(m *Machine, x Value, a *Args) (Value, error) {
	return lazily(func() (func() (Value, bool, error), error) {
		if !truth(x) {
			return nothing, nil
		}
		var apply func(v Value) (Value, error)
		attr := missing
		if len(a.Pos) == 0 {
			attr = a.Take("attribute")
		}
		switch {
		case attr != missing:
			def := a.Take("default")
			if len(a.Named) > 0 {
				return nil, typeError("Unexpected keyword argument %s", repr(a.Named[0].Name))
			}
			path := attrPath(m, attr)
			apply = func(v Value) (Value, error) { return follow(m, v, path, def) }
		case len(a.Pos) == 0:
			return nil, typeError("map requires a filter argument")
		default:
			name, _ := text(m.meant(a.Pos[0]))
			f := filters[name]
			if f == nil {
				return nil, fail(kindName, "%s", unknown("filter", name))
			}
			rest := &Args{Pos: a.Pos[1:], Named: a.Named}
			apply = func(v Value) (Value, error) { return f.Apply(m, name, v, rest) }
		}
		it, err := m.Iterate(x)
		if err != nil {
			return nil, err
		}
		return func() (Value, bool, error) {
			v, ok, err := it.Next(m)
			if err != nil || !ok {
				return nil, false, err
			}
			v, err = apply(v)
			return v, err == nil, err
		}, nil
	}), nil
}

// selector implements select, reject and their attribute forms: it keeps items
// whose value, or attribute, passes a test or is true, or the others.
func selector(keep, byAttr bool) func(*Machine, Value, *Args) (Value, error) {
	return func(m *Machine, x Value, a *Args) (Value, error) {
		return lazily(func() (func() (Value, bool, error), error) {
			if !truth(x) {
				return nothing, nil
			}
			args := a.Pos
			var path []Value
			if byAttr {
				if len(args) == 0 {
					return nil, typeError("Missing parameter for attribute name")
				}
				path, args = attrPath(m, args[0]), args[1:]
			}
			passes := func(v Value) (bool, error) { return truth(v), nil }
			if len(args) > 0 {
				name, _ := text(m.meant(args[0]))
				t := tests[name]
				if t == nil {
					return nil, fail(kindName, "%s", unknown("test", name))
				}
				rest := &Args{Pos: args[1:], Named: a.Named}
				passes = func(v Value) (bool, error) {
					r, err := t.Apply(m, name, v, rest)
					return truth(r), err
				}
			}
			it, err := m.Iterate(x)
			if err != nil {
				return nil, err
			}
			return func() (Value, bool, error) {
				for {
					item, ok, err := it.Next(m)
					if err != nil || !ok {
						return nil, false, err
					}
					v, err := follow(m, item, path, nil)
					if err != nil {
						return nil, false, err
					}
					if yes, err := passes(v); err != nil {
						return nil, false, err
					} else if yes == keep {
						return item, true, nil
					}
				}
			}, nil
		}), nil
	}
}
