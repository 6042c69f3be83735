package chat

import (
	"slices"
)

func (m *interp) args(f *frame, a *argsExpr) (*Args, error) {
	pos, err := m.evalAll(f, a.Pos)
	if err != nil {
		return nil, err
	}
	c := &Args{Pos: pos}
	for _, k := range a.Named {
		v, err := m.eval(f, k.X)
		if err != nil {
			return nil, err
		}
		c.Named = append(c.Named, Keyword{Name: k.Name, Value: v})
	}
	if a.Star != nil {
		v, err := m.eval(f, a.Star)
		if err != nil {
			return nil, err
		}
		items, err := m.Collect(v)
		if err != nil {
			return nil, err
		}
		if c.Pos, err = m.Join(c.Pos, items); err != nil {
			return nil, err
		}
	}
	if a.Dstar != nil {
		v, err := m.eval(f, a.Dstar)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*Map)
		if !ok {
			if u, ok := v.(*undefined); ok {
				return nil, u.Err()
			}
			return nil, typeError("argument after ** must be a mapping, not %s", typeName(v))
		}
		if d.Len() > 1000 {
			return nil, fail(kindLimit, "more than 1000 keyword arguments")
		}
		for k, v := range d.All() {
			name, ok := text(k)
			if !ok {
				return nil, typeError("keywords must be strings")
			}
			if err := c.Add(m.plain(name), v); err != nil {
				return nil, err
			}
		}
	}
	return c, m.Step(len(c.Named) * len(c.Named) / 8) // names are compared one by one
}

// A macro is a macroDef with the frame it was defined in.
type macro struct {
	in  *interp
	def *macroDef
	f   *frame
}

// Call calls the object.
func (c *macro) Call(_ *Machine, a *Args) (Value, error) {
	m, d := c.in, c.def
	if err := m.enterCall(); err != nil {
		return nil, err
	}
	defer m.leaveCall()
	f, err := m.newFrame(d.Fn, c.f, c.f.ctx)
	if err != nil {
		return nil, err
	}
	if err := c.bind(f, a); err != nil {
		return nil, err
	}
	if err := m.open(f, d.Scope); err != nil {
		return nil, err
	}
	required := len(d.Params) - len(d.Defaults)
	for i, p := range d.Params {
		slot := &f.slots[p.Ref.Slot]
		switch {
		case *slot != missing:
		case i < required:
			*slot = &undefined{Kind: kindUndefined, Msg: "parameter " + repr(p.Name) + " was not provided"}
		default:
			v, err := m.eval(f, d.Defaults[i-required])
			if err != nil {
				return nil, err
			}
			*slot = v
		}
	}
	return m.capture(func() error {
		_, err := m.run(f, d.Body)
		return err
	})
}

// bind fills the parameters and the special variables caller, kwargs and
// varargs, by the rules of jinja2.runtime.Macro.
func (c *macro) bind(f *frame, a *Args) error {
	d := c.def
	n := min(len(a.Pos), len(d.Params))
	for i, p := range d.Params[:n] {
		f.slots[p.Ref.Slot] = a.Pos[i]
	}
	kw := slices.Clone(a.Named)
	take := func(name string) (Value, bool) {
		i := slices.IndexFunc(kw, func(k Keyword) bool { return k.Name == name })
		if i < 0 {
			return nil, false
		}
		v := kw[i].Value
		kw = slices.Delete(kw, i, i+1)
		return v, true
	}
	for _, p := range d.Params[n:] {
		if v, ok := take(p.Name); ok {
			f.slots[p.Ref.Slot] = v
		}
	}
	if d.Caller >= 0 {
		v, ok := take("caller")
		if !ok || v == nil {
			v = &undefined{Kind: kindUndefined, Msg: "No caller defined"}
		}
		f.slots[d.Caller] = v
	}
	switch {
	case d.Kwargs >= 0:
		rest := &Map{}
		for _, k := range kw {
			if err := rest.Set(k.Name, k.Value); err != nil {
				return err
			}
		}
		f.slots[d.Kwargs] = rest
	case len(kw) > 0:
		return typeError("macro %s takes no keyword argument %s", repr(d.Name), repr(kw[0].Name))
	}
	switch {
	case d.VarArg >= 0:
		f.slots[d.VarArg] = &Tuple{Items: a.Pos[n:]}
	case len(a.Pos) > n:
		return typeError("macro %s takes not more than %d argument(s)", repr(d.Name), len(d.Params))
	}
	return nil
}

// TypeName names the type as Python does.
func (c *macro) TypeName() string { return "Macro" }

// Repr is Python's repr().
func (c *macro) Repr(*Machine) (string, error) {
	if c.def.Name == "" {
		return "<Macro anonymous>", nil
	}
	return "<Macro " + repr(c.def.Name) + ">", nil
}

// Attr returns an attribute of a macro.
func (c *macro) Attr(_ *Machine, name string) (Value, bool, error) {
	switch name {
	case "name":
		if c.def.Name == "" {
			return nil, true, nil
		}
		return c.def.Name, true, nil
	case "arguments":
		t := &Tuple{}
		for _, p := range c.def.Params {
			t.Items = append(t.Items, p.Name)
		}
		return t, true, nil
	case "catch_kwargs":
		return c.def.Kwargs >= 0, true, nil
	case "catch_varargs":
		return c.def.VarArg >= 0, true, nil
	case "caller":
		return c.def.Caller >= 0 || c.def.ExplicitCaller, true, nil
	case "explicit_caller":
		return c.def.ExplicitCaller, true, nil
	}
	return nil, false, nil
}
