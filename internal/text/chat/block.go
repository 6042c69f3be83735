package chat

import (
	"maps"
)

func (m *interp) execBlock(f *frame, s *blockStmt) (flow, error) {
	ctx := f.ctx
	if s.Scoped {
		if err := m.Alloc(32 * (len(f.ctx.vars) + len(f.ctx.set) + len(s.Locals))); err != nil {
			return flowNext, err
		}
		ctx = &scope{vars: maps.Clone(f.ctx.vars)}
		maps.Copy(ctx.vars, f.ctx.set)
		for name, ref := range s.Locals {
			if v := *f.at(ref); v != missing {
				ctx.vars[name] = v
			}
		}
	}
	return flowNext, m.renderBlock(s, ctx)
}

func (m *interp) renderBlock(s *blockStmt, ctx *scope) error {
	if err := m.enterCall(); err != nil {
		return err
	}
	defer m.leaveCall()
	f, err := m.newFrame(s.Fn, nil, ctx)
	if err != nil {
		return err
	}
	if s.Self >= 0 {
		f.slots[s.Self] = &templateRef{m, f}
	}
	if s.Super >= 0 {
		f.slots[s.Super] = &undefined{Kind: kindUndefined, Msg: "there is no parent block called " + repr(s.Name) + "."}
	}
	_, err = m.within(f, s.Scope, s.Body)
	return err
}

// templateRef is self, blockRef one block of it.
type templateRef struct {
	in *interp
	f  *frame
}

type blockRef struct {
	in  *interp
	b   *blockStmt
	ctx *scope
}

// TypeName names the type as Python does.
func (*templateRef) TypeName() string { return "TemplateReference" }

// TypeName names the type as Python does.
func (*blockRef) TypeName() string { return "BlockReference" }

// Attr returns an attribute.
func (*templateRef) Attr(*Machine, string) (Value, bool, error) { return nil, false, nil }

// Attr returns an attribute.
func (*blockRef) Attr(*Machine, string) (Value, bool, error) { return nil, false, nil }

// Repr is Python's repr().
func (*templateRef) Repr(*Machine) (string, error) { return "<TemplateReference None>", nil }

// Item returns the item under a key.
func (t *templateRef) Item(key Value) (Value, bool) {
	if name, ok := text(key); ok {
		if b := t.in.blocks[name]; b != nil {
			return &blockRef{t.in, b, t.f.ctx}, true
		}
	}
	return nil, false
}

// Call calls the object.
func (r *blockRef) Call(*Machine, *Args) (Value, error) {
	return r.in.capture(func() error { return r.in.renderBlock(r.b, r.ctx) })
}
