package chat

import "strings"

func (m *machine) run(f *frame, body []stmt) (flow, error) {
	if err := m.enter(); err != nil {
		return flowNext, err
	}
	defer m.leave()
	for _, s := range body {
		if err := m.step(1); err != nil {
			return flowNext, m.at(nodePos(s), err)
		}
		fl, err := s.exec(m, f)
		if err != nil || fl != flowNext {
			return fl, m.at(nodePos(s), err)
		}
	}
	return flowNext, nil
}

func (s *outputStmt) exec(m *machine, f *frame) (flow, error) {
	if s.x == nil {
		return flowNext, m.write(s.text)
	}
	v, err := m.eval(f, s.x)
	if err != nil {
		return flowNext, err
	}
	t, err := m.str(v)
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.write(t)
}

func (s *ifStmt) exec(m *machine, f *frame) (flow, error) {
	for i, t := range s.tests {
		v, err := m.eval(f, t)
		if err != nil {
			return flowNext, err
		}
		if truth(v) {
			return m.run(f, s.bodies[i])
		}
	}
	if len(s.bodies) > len(s.tests) {
		return m.run(f, s.bodies[len(s.tests)])
	}
	return flowNext, nil
}

func (s *assignStmt) exec(m *machine, f *frame) (flow, error) {
	if err := m.checkNamespaces(f, s.target); err != nil {
		return flowNext, err
	}
	v, err := m.eval(f, s.x)
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.assign(f, s.target, v, s.export)
}

// checkNamespaces refuses attributes of anything else before the value is computed.
func (m *machine) checkNamespaces(f *frame, t *target) (err error) {
	t.refs(func(t *target) {
		if _, ok := (*f.at(t.ref)).(*namespace); !ok && err == nil {
			err = m.at(t.pos, typeError("cannot assign attribute on non-namespace object"))
		}
	})
	return err
}

// assign stores v; export also shows top-level names to blocks.
func (m *machine) assign(f *frame, t *target, v Value, export bool) error {
	switch {
	case t.items != nil:
		n := 0
		err := m.each(v, func(x Value) (bool, error) {
			if n == len(t.items) {
				return false, valueError("too many values to unpack (expected %d)", len(t.items))
			}
			n++
			return true, m.assign(f, t.items[n-1], x, export)
		})
		if err == nil && n < len(t.items) {
			err = valueError("not enough values to unpack (expected %d, got %d)", len(t.items), n)
		}
		return m.at(t.pos, err)
	case t.attr != "":
		ns, ok := (*f.at(t.ref)).(*namespace)
		if !ok {
			return m.at(t.pos, typeError("cannot assign attribute on non-namespace object"))
		}
		if err := m.alloc(32); err != nil {
			return err
		}
		return ns.attrs.Set(t.attr, v)
	}
	*f.at(t.ref) = v
	if export {
		if f.ctx.set == nil {
			f.ctx.set = map[string]Value{}
		}
		f.ctx.set[t.name] = v
	}
	return nil
}

func (s *assignBlockStmt) exec(m *machine, f *frame) (flow, error) {
	m.open(f, s.scope)
	fl := flowNext
	text, err := m.capture(func() (err error) {
		fl, err = m.run(f, s.body)
		return err
	})
	if err != nil || fl != flowNext {
		return fl, err
	}
	v := Value(text)
	if s.filter != nil {
		if v, err = s.filter.apply(m, f, text); err != nil {
			return flowNext, err
		}
	}
	if err := m.checkNamespaces(f, s.target); err != nil {
		return flowNext, err
	}
	if err := m.assign(f, s.target, v, s.export); err != nil {
		return flowNext, err
	}
	m.close(f, s.scope)
	return flowNext, nil
}

func (s *filterBlockStmt) exec(m *machine, f *frame) (flow, error) {
	m.open(f, s.scope)
	fl := flowNext
	text, err := m.capture(func() (err error) {
		fl, err = m.run(f, s.body)
		return err
	})
	if err != nil || fl != flowNext {
		return fl, err
	}
	v, err := s.filter.apply(m, f, text)
	if err != nil {
		return flowNext, err
	}
	m.close(f, s.scope)
	return flowNext, m.writeString(v)
}

// writeString writes what a block produced, which must be a string.
func (m *machine) writeString(v Value) error {
	t, ok := text(v)
	if !ok {
		return typeError("sequence item 0: expected str instance, %s found", typeName(v))
	}
	return m.write(t)
}

func (s *withStmt) exec(m *machine, f *frame) (flow, error) {
	m.open(f, s.scope)
	for i, t := range s.targets {
		v, err := m.eval(f, s.values[i])
		if err != nil {
			return flowNext, err
		}
		if err := m.assign(f, t, v, false); err != nil {
			return flowNext, err
		}
	}
	fl, err := m.run(f, s.body)
	m.close(f, s.scope)
	return fl, err
}

func (s *scopeStmt) exec(m *machine, f *frame) (flow, error) {
	m.open(f, s.scope)
	fl, err := m.run(f, s.body)
	m.close(f, s.scope)
	return fl, err
}

func (s *macroStmt) exec(m *machine, f *frame) (flow, error) {
	v := &macro{def: s.def, f: f}
	*f.at(s.ref) = v
	if s.export {
		if f.ctx.set == nil {
			f.ctx.set = map[string]Value{}
		}
		f.ctx.set[s.def.name] = v
	}
	return flowNext, nil
}

func (s *callStmt) exec(m *machine, f *frame) (flow, error) {
	v, err := s.call.run(m, f, &macro{def: s.def, f: f})
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.writeString(v)
}

func (s *generationStmt) exec(m *machine, f *frame) (flow, error) {
	v, err := (&macro{def: s.def, f: f}).call(m, &callArgs{})
	if err != nil {
		return flowNext, err
	}
	text := v.(string)
	start := m.written()
	m.spans = append(m.spans, [2]int{start, start + strings.Count(text, "") - 1})
	return flowNext, m.write(text)
}

func (s *loopCtlStmt) exec(*machine, *frame) (flow, error) { return s.flow, nil }

func (s *blockStmt) exec(m *machine, f *frame) (flow, error) {
	ctx := f.ctx
	if s.scoped {
		ctx = &scope{vars: map[string]Value{}}
		if err := m.alloc(32 * (len(f.ctx.vars) + len(f.ctx.set) + len(s.locals))); err != nil {
			return flowNext, err
		}
		for _, layer := range []map[string]Value{f.ctx.vars, f.ctx.set} {
			for k, v := range layer {
				ctx.vars[k] = v
			}
		}
		for name, ref := range s.locals {
			if v := *f.at(ref); v != missing {
				ctx.vars[name] = v
			}
		}
	}
	return flowNext, s.render(m, ctx)
}

func (s *blockStmt) render(m *machine, ctx *scope) error {
	if err := m.enterCall(); err != nil {
		return err
	}
	defer m.leaveCall()
	f := &frame{slots: newSlots(s.fn), ctx: ctx}
	if s.self >= 0 {
		f.slots[s.self] = &templateRef{f}
	}
	if s.super >= 0 {
		f.slots[s.super] = &undefined{kind: KindUndefined, msg: "there is no parent block called " + repr(s.name) + "."}
	}
	m.open(f, s.scope)
	_, err := m.run(f, s.body)
	return err
}
