package chat

import (
	"strings"

	"atenia/internal/chat/object"
	"atenia/internal/chat/syntax"
)

func (m *interp) run(f *frame, body []syntax.Stmt) (syntax.Flow, error) {
	if err := m.Enter(); err != nil {
		return syntax.FlowNext, err
	}
	defer m.Leave()
	for _, s := range body {
		if err := m.Step(1); err != nil {
			return syntax.FlowNext, m.at(syntax.PosOf(s), err)
		}
		fl, err := m.exec(f, s)
		if err != nil || fl != syntax.FlowNext {
			return fl, m.at(syntax.PosOf(s), err)
		}
	}
	return syntax.FlowNext, nil
}

// exec runs one statement.
func (m *interp) exec(f *frame, s syntax.Stmt) (syntax.Flow, error) {
	switch s := s.(type) {
	case *syntax.OutputStmt:
		return m.execOutput(f, s)
	case *syntax.IfStmt:
		return m.execIf(f, s)
	case *syntax.ForStmt:
		return m.execFor(f, s)
	case *syntax.AssignStmt:
		return m.execAssign(f, s)
	case *syntax.AssignBlockStmt:
		return m.execAssignBlock(f, s)
	case *syntax.FilterBlockStmt:
		return m.execFilterBlock(f, s)
	case *syntax.WithStmt:
		return m.execWith(f, s)
	case *syntax.MacroStmt:
		return m.execMacro(f, s)
	case *syntax.CallStmt:
		return m.execCall(f, s)
	case *syntax.GenerationStmt:
		return m.execGeneration(f, s)
	case *syntax.BlockStmt:
		return m.execBlock(f, s)
	case *syntax.LoopCtlStmt:
		return s.Flow, nil
	}
	return syntax.FlowNext, object.TypeError("statement %T", s)
}

func (m *interp) execOutput(f *frame, s *syntax.OutputStmt) (syntax.Flow, error) {
	if s.X == nil {
		return syntax.FlowNext, m.write(s.Text)
	}
	v, err := m.eval(f, s.X)
	if err != nil {
		return syntax.FlowNext, err
	}
	t, err := m.Str(v)
	if err != nil {
		return syntax.FlowNext, err
	}
	return syntax.FlowNext, m.write(t)
}

func (m *interp) execIf(f *frame, s *syntax.IfStmt) (syntax.Flow, error) {
	for i, t := range s.Tests {
		v, err := m.eval(f, t)
		if err != nil {
			return syntax.FlowNext, err
		}
		if object.Truth(v) {
			return m.run(f, s.Bodies[i])
		}
	}
	if len(s.Bodies) > len(s.Tests) {
		return m.run(f, s.Bodies[len(s.Tests)])
	}
	return syntax.FlowNext, nil
}

func (m *interp) execAssign(f *frame, s *syntax.AssignStmt) (syntax.Flow, error) {
	if err := m.checkNamespaces(f, s.Target); err != nil {
		return syntax.FlowNext, err
	}
	v, err := m.eval(f, s.X)
	if err != nil {
		return syntax.FlowNext, err
	}
	return syntax.FlowNext, m.assign(f, s.Target, v, s.Export)
}

// checkNamespaces refuses attributes of anything else before the value is computed.
func (m *interp) checkNamespaces(f *frame, t *syntax.Target) (err error) {
	t.Refs(func(t *syntax.Target) {
		if _, ok := (*f.at(t.Ref)).(*object.Namespace); !ok && err == nil {
			err = m.at(t.Pos, object.TypeError("cannot assign attribute on non-namespace object"))
		}
	})
	return err
}

// assign stores v; export also shows top-level names to blocks.
func (m *interp) assign(f *frame, t *syntax.Target, v Value, export bool) error {
	switch {
	case t.Items != nil:
		n := 0
		err := m.Each(v, func(x Value) (bool, error) {
			if n == len(t.Items) {
				return false, object.ValueError("too many values to unpack (expected %d)", len(t.Items))
			}
			n++
			return true, m.assign(f, t.Items[n-1], x, export)
		})
		if err == nil && n < len(t.Items) {
			err = object.ValueError("not enough values to unpack (expected %d, got %d)", len(t.Items), n)
		}
		return m.at(t.Pos, err)
	case t.Attr != "":
		ns, ok := (*f.at(t.Ref)).(*object.Namespace)
		if !ok {
			return m.at(t.Pos, object.TypeError("cannot assign attribute on non-namespace object"))
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
func (m *interp) captured(f *frame, e syntax.Entry, body []syntax.Stmt) (text string, fl syntax.Flow, err error) {
	if err = m.open(f, e); err == nil {
		text, err = m.capture(func() (err error) {
			fl, err = m.run(f, body)
			return err
		})
	}
	return text, fl, err
}

func (m *interp) execAssignBlock(f *frame, s *syntax.AssignBlockStmt) (syntax.Flow, error) {
	text, fl, err := m.captured(f, s.Scope, s.Body)
	if err != nil || fl != syntax.FlowNext {
		return fl, err
	}
	v := Value(text)
	if s.Filter != nil {
		if v, err = m.filterText(f, s.Filter, text); err != nil {
			return syntax.FlowNext, err
		}
	}
	if err := m.checkNamespaces(f, s.Target); err != nil {
		return syntax.FlowNext, err
	}
	if err := m.assign(f, s.Target, v, s.Export); err != nil {
		return syntax.FlowNext, err
	}
	m.close(f, s.Scope)
	return syntax.FlowNext, nil
}

func (m *interp) execFilterBlock(f *frame, s *syntax.FilterBlockStmt) (syntax.Flow, error) {
	text, fl, err := m.captured(f, s.Scope, s.Body)
	if err != nil || fl != syntax.FlowNext {
		return fl, err
	}
	v, err := m.filterText(f, s.Filter, text)
	if err != nil {
		return syntax.FlowNext, err
	}
	m.close(f, s.Scope)
	return syntax.FlowNext, m.writeString(v)
}

// writeString writes what a block produced, which must be a string.
func (m *interp) writeString(v Value) error {
	t, ok := object.Text(v)
	if !ok {
		return object.TypeError("sequence item 0: expected str instance, %s found", object.TypeName(v))
	}
	return m.write(t)
}

func (m *interp) execWith(f *frame, s *syntax.WithStmt) (syntax.Flow, error) {
	if err := m.open(f, s.Scope); err != nil {
		return syntax.FlowNext, err
	}
	for i, t := range s.Targets {
		v, err := m.eval(f, s.Values[i])
		if err != nil {
			return syntax.FlowNext, err
		}
		if err := m.assign(f, t, v, false); err != nil {
			return syntax.FlowNext, err
		}
	}
	fl, err := m.run(f, s.Body)
	m.close(f, s.Scope)
	return fl, err
}

func (m *interp) execMacro(f *frame, s *syntax.MacroStmt) (syntax.Flow, error) {
	v := &macro{in: m, def: s.Def, f: f}
	*f.at(s.Ref) = v
	if s.Export {
		f.ctx.export(s.Def.Name, v)
	}
	return syntax.FlowNext, nil
}

func (m *interp) execCall(f *frame, s *syntax.CallStmt) (syntax.Flow, error) {
	v, err := m.runCall(f, s.Call, &macro{in: m, def: s.Def, f: f})
	if err != nil {
		return syntax.FlowNext, err
	}
	return syntax.FlowNext, m.writeString(v)
}

func (m *interp) execGeneration(f *frame, s *syntax.GenerationStmt) (syntax.Flow, error) {
	v, err := (&macro{in: m, def: s.Def, f: f}).Call(m.Machine, &object.Args{})
	if err != nil {
		return syntax.FlowNext, err
	}
	text := v.(string)
	start := m.written()
	m.spans = append(m.spans, [2]int{start, start + strings.Count(text, "") - 1})
	return syntax.FlowNext, m.write(text)
}
