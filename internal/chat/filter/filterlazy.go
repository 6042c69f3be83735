package filter

import "atenia/internal/chat/object"

// later iterates over x once the first value is asked for; what cannot be
// iterated over fails only then.
func later(m *object.Machine, x object.Value) *object.Iterator {
	return lazily(func() (func() (object.Value, bool, error), error) {
		it, err := m.Iterate(x)
		if err != nil {
			return nil, err
		}
		return func() (object.Value, bool, error) { return it.Next(m) }, nil
	})
}

// lazily is the generator that f yields on first use.
func lazily(f func() (func() (object.Value, bool, error), error)) *object.Iterator {
	var next func() (object.Value, bool, error)
	return object.Generator(func() (_ object.Value, _ bool, err error) {
		if next == nil {
			if next, err = f(); err != nil {
				return nil, false, err
			}
		}
		return next()
	})
}

func nothing() (object.Value, bool, error) { return nil, false, nil }

func mapFilter(m *object.Machine, x object.Value, a *object.Args) (object.Value, error) {
	return lazily(func() (func() (object.Value, bool, error), error) {
		if !object.Truth(x) {
			return nothing, nil
		}
		var apply func(v object.Value) (object.Value, error)
		attr := object.Missing
		if len(a.Pos) == 0 {
			attr = a.Take("attribute")
		}
		switch {
		case attr != object.Missing:
			def := a.Take("default")
			if len(a.Named) > 0 {
				return nil, object.TypeError("Unexpected keyword argument %s", object.Repr(a.Named[0].Name))
			}
			path := attrPath(attr)
			apply = func(v object.Value) (object.Value, error) { return follow(m, v, path, def) }
		case len(a.Pos) == 0:
			return nil, object.TypeError("map requires a filter argument")
		default:
			name, _ := object.Text(a.Pos[0])
			f := Table[name]
			if f == nil {
				return nil, object.Fail(object.KindName, "%s", Unknown("filter", name))
			}
			rest := &object.Args{Pos: a.Pos[1:], Named: a.Named}
			apply = func(v object.Value) (object.Value, error) { return f.Apply(m, name, v, rest) }
		}
		it, err := m.Iterate(x)
		if err != nil {
			return nil, err
		}
		return func() (object.Value, bool, error) {
			v, ok, err := it.Next(m)
			if err != nil || !ok {
				return nil, false, err
			}
			v, err = apply(v)
			return v, err == nil, err
		}, nil
	}), nil
}

// selector is select and its kin: keep items whose value, or attribute, passes
// a test or is true; the others are those that do not.
func selector(keep, byAttr bool) func(*object.Machine, object.Value, *object.Args) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a *object.Args) (object.Value, error) {
		return lazily(func() (func() (object.Value, bool, error), error) {
			if !object.Truth(x) {
				return nothing, nil
			}
			args := a.Pos
			var path []object.Value
			if byAttr {
				if len(args) == 0 {
					return nil, object.TypeError("Missing parameter for attribute name")
				}
				path, args = attrPath(args[0]), args[1:]
			}
			passes := func(v object.Value) (bool, error) { return object.Truth(v), nil }
			if len(args) > 0 {
				name, _ := object.Text(args[0])
				t := Tests[name]
				if t == nil {
					return nil, object.Fail(object.KindName, "%s", Unknown("test", name))
				}
				rest := &object.Args{Pos: args[1:], Named: a.Named}
				passes = func(v object.Value) (bool, error) {
					r, err := t.Apply(m, name, v, rest)
					return object.Truth(r), err
				}
			}
			it, err := m.Iterate(x)
			if err != nil {
				return nil, err
			}
			return func() (object.Value, bool, error) {
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
