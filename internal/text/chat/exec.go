package chat

import (
	"strings"
)

func (m *interp) run(f *frame, body []stmt) (flow, error) {
	if err := m.Enter(); err != nil {
		return flowNext, err
	}
	for _, s := range body {
		if err := m.Step(1); err != nil {
			return flowNext, m.at(posOf(s), err)
		}
		fl, err := m.exec(f, s)
		if err != nil || fl != flowNext {
			m.Leave()
			return fl, m.at(posOf(s), err)
		}
	}
	m.Leave()
	return flowNext, nil
}

// exec runs one statement.
func (m *interp) exec(f *frame, s stmt) (flow, error) {
	switch s := s.(type) {
	case *outputStmt:
		return m.execOutput(f, s)
	case *ifStmt:
		return m.execIf(f, s)
	case *forStmt:
		return m.execFor(f, s)
	case *assignStmt:
		return m.execAssign(f, s)
	case *assignBlockStmt:
		return m.execAssignBlock(f, s)
	case *filterBlockStmt:
		return m.execFilterBlock(f, s)
	case *withStmt:
		return m.execWith(f, s)
	case *macroStmt:
		return m.execMacro(f, s)
	case *callStmt:
		return m.execCall(f, s)
	case *generationStmt:
		return m.execGeneration(f, s)
	case *blockStmt:
		return m.execBlock(f, s)
	case *loopCtlStmt:
		return s.Flow, nil
	}
	return flowNext, typeError("statement %T", s)
}

func (m *interp) execOutput(f *frame, s *outputStmt) (flow, error) {
	if s.X == nil {
		if s.Own > 0 && m.own != nil {
			return flowNext, m.writeOwn(s.Text, m.own[s.Own-1].(string))
		}
		return flowNext, m.write(s.Text)
	}
	base := len(m.parts)
	v, texts, err := m.sum(f, s.X)
	if err != nil {
		return flowNext, err
	}
	if !texts {
		t, err := m.Str(v)
		if err != nil {
			return flowNext, err
		}
		return flowNext, m.write(t)
	}
	for _, p := range m.parts[base:] {
		if p.own != "" {
			err = m.writeOwn(p.own, p.text)
		} else {
			err = m.write(p.text)
		}
		if err != nil {
			return flowNext, err
		}
	}
	m.parts = m.parts[:base]
	return flowNext, nil
}

// A part is a text of a sum that is written.
type part struct {
	text string
	own  string // what it shows if the template wrote it and it is traced
}

// part appends the value of an expression to m.parts if it is a text.
func (m *interp) part(x Expr, v Value) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	p := part{text: s}
	if c, ok := x.(*constExpr); ok && c.Own > 0 && m.own != nil {
		p.own = c.Value.(string)
	}
	m.parts = append(m.parts, p)
	return true
}

// sum evaluates an expression that is written. If it is a text, or a sum of such, it is
// appended to m.parts: most templates write sums with long texts in them.
func (m *interp) sum(f *frame, x Expr) (v Value, texts bool, err error) {
	b, ok := x.(*binaryExpr)
	if !ok || b.Op != "+" {
		v, err := m.eval(f, x)
		return v, err == nil && m.part(x, v), err
	}
	if err := m.Enter(); err != nil {
		return nil, false, m.at(posOf(x), err)
	}
	base := len(m.parts)
	var w Value
	if v, texts, err = m.sum(f, b.X); err == nil {
		w, err = m.eval(f, b.Y)
	}
	if err != nil {
		return nil, false, m.at(posOf(x), err)
	}
	m.Leave()
	if texts && m.part(b.Y, w) {
		return nil, true, nil
	}
	if texts {
		var all strings.Builder
		for _, p := range m.parts[base:] {
			if err := m.Alloc(len(p.text)); err != nil {
				return nil, false, m.at(posOf(x), err)
			}
			all.WriteString(p.text)
		}
		v, m.parts = all.String(), m.parts[:base]
	}
	v, err = binary(m.Machine, b.Op, v, w)
	return v, false, m.at(posOf(x), err)
}

func (m *interp) execIf(f *frame, s *ifStmt) (flow, error) {
	for i, t := range s.Tests {
		v, err := m.eval(f, t)
		if err != nil {
			return flowNext, err
		}
		if truth(v) {
			return m.run(f, s.Bodies[i])
		}
	}
	if len(s.Bodies) > len(s.Tests) {
		return m.run(f, s.Bodies[len(s.Tests)])
	}
	return flowNext, nil
}

func (m *interp) execAssign(f *frame, s *assignStmt) (flow, error) {
	if err := m.checkNamespaces(f, s.Target); err != nil {
		return flowNext, err
	}
	v, err := m.eval(f, s.X)
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.assign(f, s.Target, v, s.Export)
}

// checkNamespaces rejects attributes of other values before the value is
// computed.
func (m *interp) checkNamespaces(f *frame, t *Target) (err error) {
	t.Refs(func(t *Target) {
		if _, ok := (*f.at(t.Ref)).(*namespace); !ok && err == nil {
			err = m.at(t.Pos, typeError("cannot assign attribute on non-namespace object"))
		}
	})
	return err
}

// assign stores v; export also shows top-level names to blocks.
func (m *interp) assign(f *frame, t *Target, v Value, export bool) error {
	switch {
	case t.Items != nil:
		n := 0
		err := m.Each(v, func(x Value) (bool, error) {
			if n == len(t.Items) {
				return false, valueError("too many values to unpack (expected %d)", len(t.Items))
			}
			n++
			return true, m.assign(f, t.Items[n-1], x, export)
		})
		if err == nil && n < len(t.Items) {
			err = valueError("not enough values to unpack (expected %d, got %d)", len(t.Items), n)
		}
		return m.at(t.Pos, err)
	case t.Attr != "":
		ns, ok := (*f.at(t.Ref)).(*namespace)
		if !ok {
			return m.at(t.Pos, typeError("cannot assign attribute on non-namespace object"))
		}
		if err := checkNamespaceName(t.Attr); err != nil {
			return m.at(t.Pos, err)
		}
		return m.Put(ns.Attrs, t.Attr, v)
	}
	*f.at(t.Ref) = v
	if export {
		f.ctx.export(t.Name, v)
	}
	return nil
}

// captured runs the body of a block in its scope, which stays open, and returns
// its text. A break or continue ends the block early.
func (m *interp) captured(f *frame, e entry, body []stmt) (text string, fl flow, err error) {
	if err = m.open(f, e); err == nil {
		text, err = m.capture(func() (err error) {
			fl, err = m.run(f, body)
			return err
		})
	}
	return text, fl, err
}

func (m *interp) execAssignBlock(f *frame, s *assignBlockStmt) (flow, error) {
	text, fl, err := m.captured(f, s.Scope, s.Body)
	if err != nil || fl != flowNext {
		return fl, err
	}
	v := Value(text)
	if s.Filter != nil {
		if v, err = m.filterText(f, s.Filter, text); err != nil {
			return flowNext, err
		}
	}
	if err := m.checkNamespaces(f, s.Target); err != nil {
		return flowNext, err
	}
	if err := m.assign(f, s.Target, v, s.Export); err != nil {
		return flowNext, err
	}
	m.close(f, s.Scope)
	return flowNext, nil
}

func (m *interp) execFilterBlock(f *frame, s *filterBlockStmt) (flow, error) {
	text, fl, err := m.captured(f, s.Scope, s.Body)
	if err != nil || fl != flowNext {
		return fl, err
	}
	v, err := m.filterText(f, s.Filter, text)
	if err != nil {
		return flowNext, err
	}
	m.close(f, s.Scope)
	return flowNext, m.writeString(v)
}

// writeString writes the output of a block, which must be a string.
func (m *interp) writeString(v Value) error {
	t, ok := text(v)
	if !ok {
		return typeError("sequence item 0: expected str instance, %s found", typeName(v))
	}
	return m.write(t)
}

func (m *interp) execWith(f *frame, s *withStmt) (flow, error) {
	if err := m.open(f, s.Scope); err != nil {
		return flowNext, err
	}
	for i, t := range s.Targets {
		v, err := m.eval(f, s.Values[i])
		if err != nil {
			return flowNext, err
		}
		if err := m.assign(f, t, v, false); err != nil {
			return flowNext, err
		}
	}
	fl, err := m.run(f, s.Body)
	m.close(f, s.Scope)
	return fl, err
}

func (m *interp) execMacro(f *frame, s *macroStmt) (flow, error) {
	v := &macro{in: m, def: s.Def, f: f}
	*f.at(s.Ref) = v
	if s.Export {
		f.ctx.export(s.Def.Name, v)
	}
	return flowNext, nil
}

func (m *interp) execCall(f *frame, s *callStmt) (flow, error) {
	v, err := m.runCall(f, s.Call, &macro{in: m, def: s.Def, f: f})
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.writeString(v)
}

func (m *interp) execGeneration(f *frame, s *generationStmt) (flow, error) {
	v, err := (&macro{in: m, def: s.Def, f: f}).Call(m.Machine, &Args{})
	if err != nil {
		return flowNext, err
	}
	text := v.(string)
	start := m.written()
	m.spans = append(m.spans, [2]int{start, start + strings.Count(text, "") - 1})
	return flowNext, m.write(text)
}
