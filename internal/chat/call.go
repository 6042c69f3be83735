package chat

import (
	"slices"
	"strings"
)

// callArgs are the evaluated arguments of a call.
type callArgs struct {
	pos []Value
	kw  []keyword
}

type keyword struct {
	name string
	v    Value
}

func (a *callArgs) add(name string, v Value) error {
	if slices.ContainsFunc(a.kw, func(k keyword) bool { return k.name == name }) {
		return typeError("got multiple values for keyword argument '%s'", name)
	}
	a.kw = append(a.kw, keyword{name, v})
	return nil
}

func (a *argsExpr) values(m *machine, f *frame) (*callArgs, error) {
	pos, err := m.evalAll(f, a.pos)
	if err != nil {
		return nil, err
	}
	c := &callArgs{pos: pos}
	for _, k := range a.kw {
		v, err := m.eval(f, k.x)
		if err != nil {
			return nil, err
		}
		c.kw = append(c.kw, keyword{k.name, v})
	}
	if a.star != nil {
		v, err := m.eval(f, a.star)
		if err != nil {
			return nil, err
		}
		items, err := m.collect(v)
		if err != nil {
			return nil, err
		}
		if c.pos, err = m.join(c.pos, items); err != nil {
			return nil, err
		}
	}
	if a.dstar != nil {
		v, err := m.eval(f, a.dstar)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*Map)
		if !ok {
			return nil, typeError("argument after ** must be a mapping, not %s", typeName(v))
		}
		if d.Len() > 1000 {
			return nil, fail(KindLimit, "more than 1000 keyword arguments")
		}
		for k, v := range d.All() {
			name, ok := text(k)
			if !ok {
				return nil, typeError("keywords must be strings")
			}
			if err := c.add(name, v); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// bind matches the arguments with parameters; one whose name ends in "?" may
// be absent and is then missing.
func (a *callArgs) bind(fn string, params ...string) ([]Value, error) {
	out := make([]Value, len(params))
	if len(a.pos) > len(params) {
		return nil, typeError("%s() takes at most %d arguments, got %d", fn, len(params), len(a.pos))
	}
	for i := range out {
		out[i] = missing
	}
	copy(out, a.pos)
	for _, k := range a.kw {
		i := slices.IndexFunc(params, func(p string) bool { return strings.TrimSuffix(p, "?") == k.name })
		if i < 0 {
			return nil, typeError("%s() got an unexpected keyword argument '%s'", fn, k.name)
		}
		if out[i] != missing {
			return nil, typeError("%s() got multiple values for argument '%s'", fn, k.name)
		}
		out[i] = k.v
	}
	for i, p := range params {
		if out[i] == missing && !strings.HasSuffix(p, "?") {
			return nil, typeError("%s() is missing the argument '%s'", fn, p)
		}
	}
	return out, nil
}

// call calls any value.
func (m *machine) call(fn Value, a *callArgs) (Value, error) {
	switch fn := fn.(type) {
	case *function:
		return fn.call(m, a)
	case *macro:
		return fn.call(m, a)
	case *loop:
		return fn.call(m, a)
	case *joiner:
		if _, err := a.bind("joiner"); err != nil {
			return nil, err
		}
		if !fn.used {
			fn.used = true
			return "", nil
		}
		return fn.sep, nil
	case *blockRef:
		return m.capture(func() error { return fn.b.render(m, fn.ctx) })
	case *undefined:
		return nil, fn.err()
	}
	return nil, typeError("'%s' object is not callable", typeName(fn))
}

func callable(v Value) bool {
	switch v.(type) {
	case *function, *macro, *loop, *joiner, *blockRef, *undefined:
		return true
	}
	return false
}

// A macro is a macroDef with the frame it was defined in.
type macro struct {
	def *macroDef
	f   *frame
}

func (c *macro) usesCaller() bool {
	return c.def.caller >= 0 || c.def.explicitCaller
}

func (c *macro) call(m *machine, a *callArgs) (Value, error) {
	d := c.def
	if err := m.enterCall(); err != nil {
		return nil, err
	}
	defer m.leaveCall()
	if err := m.alloc(16 * d.fn.slots); err != nil {
		return nil, err
	}
	f := &frame{slots: newSlots(d.fn), up: c.f, ctx: c.f.ctx}
	if err := c.bind(f, a); err != nil {
		return nil, err
	}
	m.open(f, d.scope)
	required := len(d.params) - len(d.defaults)
	for i, p := range d.params {
		slot := &f.slots[p.ref.slot]
		switch {
		case *slot != missing:
		case i < required:
			*slot = &undefined{kind: KindUndefined, msg: "parameter " + repr(p.name) + " was not provided"}
		default:
			v, err := m.eval(f, d.defaults[i-required])
			if err != nil {
				return nil, err
			}
			*slot = v
		}
	}
	return m.capture(func() error {
		_, err := m.run(f, d.body)
		return err
	})
}

// bind fills the parameters and the special variables caller, kwargs and
// varargs, by the rules of jinja2.runtime.Macro.
func (c *macro) bind(f *frame, a *callArgs) error {
	d := c.def
	n := min(len(a.pos), len(d.params))
	for i, p := range d.params[:n] {
		f.slots[p.ref.slot] = a.pos[i]
	}
	kw := slices.Clone(a.kw)
	take := func(name string) (Value, bool) {
		i := slices.IndexFunc(kw, func(k keyword) bool { return k.name == name })
		if i < 0 {
			return nil, false
		}
		v := kw[i].v
		kw = slices.Delete(kw, i, i+1)
		return v, true
	}
	for _, p := range d.params[n:] {
		if v, ok := take(p.name); ok {
			f.slots[p.ref.slot] = v
		}
	}
	if d.caller >= 0 {
		v, ok := take("caller")
		if !ok || v == nil {
			v = &undefined{kind: KindUndefined, msg: "No caller defined"}
		}
		f.slots[d.caller] = v
	}
	switch {
	case d.kwargs >= 0:
		rest := &Map{}
		for _, k := range kw {
			if err := rest.Set(k.name, k.v); err != nil {
				return err
			}
		}
		f.slots[d.kwargs] = rest
	case len(kw) > 0:
		return typeError("macro %s takes no keyword argument %s", repr(d.name), repr(kw[0].name))
	}
	switch {
	case d.varArg >= 0:
		f.slots[d.varArg] = &Tuple{Items: a.pos[n:]}
	case len(a.pos) > n:
		return typeError("macro %s takes not more than %d argument(s)", repr(d.name), len(d.params))
	}
	return nil
}

// attr returns an attribute of a macro.
func (c *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		if c.def.name == "" {
			return nil, true
		}
		return c.def.name, true
	case "arguments":
		t := &Tuple{}
		for _, p := range c.def.params {
			t.Items = append(t.Items, p.name)
		}
		return t, true
	case "catch_kwargs":
		return c.def.kwargs >= 0, true
	case "catch_varargs":
		return c.def.varArg >= 0, true
	case "caller":
		return c.usesCaller(), true
	case "explicit_caller":
		return c.def.explicitCaller, true
	}
	return nil, false
}
