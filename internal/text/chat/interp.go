package chat

import (
	"strings"
	"time"
	"unicode/utf8"
)

// An interp renders one conversation.
type interp struct {
	*Machine
	name  string
	calls int
	now   time.Time

	out, root *sink
	parts     []part // of sums that are written
	blocks    map[string]*blockStmt
	spans     [][2]int
}

// A frame holds the variables of a running function.
type frame struct {
	slots []Value
	up    *frame // of the enclosing function
	ctx   *scope
}

// A scope is what names that no function has resolve to.
type scope struct {
	vars map[string]Value
	set  map[string]Value // assigned at the template's top level
}

func (s *scope) resolve(name string) Value {
	if v, ok := s.set[name]; ok {
		return v
	}
	if v, ok := s.vars[name]; ok {
		return v
	}
	return missing
}

// export shows a variable of the template's top level to blocks.
func (s *scope) export(name string, v Value) {
	if s.set == nil {
		s.set = map[string]Value{}
	}
	s.set[name] = v
}

// newFrame returns the frame of a call, its variables without values.
func (m *interp) newFrame(fn *funcInfo, up *frame, ctx *scope) (*frame, error) {
	if err := m.Alloc(16 * fn.Slots); err != nil {
		return nil, err
	}
	f := &frame{slots: make([]Value, fn.Slots), up: up, ctx: ctx}
	for i := range f.slots {
		f.slots[i] = missing
	}
	return f, nil
}

func (f *frame) at(r SlotRef) *Value {
	for range r.Hops {
		f = f.up
	}
	return &f.slots[r.Slot]
}

// open gives the variables of a scope their first values.
func (m *interp) open(f *frame, e entry) error {
	for _, l := range e.Loads {
		switch l.Kind {
		case loadResolve:
			f.slots[l.Slot] = f.ctx.resolve(l.Name)
		case loadAlias:
			f.slots[l.Slot] = *f.at(l.From)
		default:
			f.slots[l.Slot] = missing
		}
	}
	return m.Step(len(e.Clear) / 8)
}

func (m *interp) close(f *frame, e entry) {
	for _, s := range e.Clear {
		f.slots[s] = missing
	}
}

// within runs a body in a scope of its own.
func (m *interp) within(f *frame, e entry, body []stmt) (flow, error) {
	if err := m.open(f, e); err != nil {
		return flowNext, err
	}
	fl, err := m.run(f, body)
	m.close(f, e)
	return fl, err
}

// A sink collects text: the result, or the captured output of a macro or block.
type sink struct {
	b       strings.Builder
	root    bool
	counted int // bytes whose code points are in points
	points  int

	// of the result of a rendering that is traced
	said []int // where the template did not write it: see [interp.say]
	ours bool  // the template wrote what is last
}

func (m *interp) write(s string) error {
	if err := m.room(s); err != nil {
		return err
	}
	if m.out.root && m.own != nil {
		m.say(s)
	} else {
		m.out.b.WriteString(s)
	}
	return nil
}

// writeOwn writes a text of the template; dyed is the text as it is traced.
func (m *interp) writeOwn(text, dyed string) error {
	if !m.out.root {
		return m.write(dyed)
	}
	if err := m.room(text); err != nil {
		return err
	}
	m.ours()
	m.out.b.WriteString(text)
	return nil
}

// room charges for text that is written.
func (m *interp) room(s string) error {
	if m.out.root && int64(m.out.b.Len()+len(s)) > m.Limits.Output {
		return fail(kindLimit, "more than %d bytes of output", m.Limits.Output)
	}
	return m.Alloc(len(s))
}

// capture runs f and returns its output.
func (m *interp) capture(f func() error) (string, error) {
	outer := m.out
	m.out = &sink{}
	err := f()
	s := m.out.b.String()
	m.out = outer
	return s, err
}

// written is the length of the result so far, in code points.
func (m *interp) written() int {
	s := m.root.b.String()
	m.root.points += utf8.RuneCountInString(s[m.root.counted:])
	m.root.counted = len(s)
	return m.root.points
}

// enterCall guards the depth of calls; each is paired with uncall.
func (m *interp) enterCall() error {
	if m.calls++; m.calls > m.Limits.Calls {
		return fail(kindLimit, "more than %d calls inside each other", m.Limits.Calls)
	}
	return nil
}

func (m *interp) leaveCall() { m.calls-- }

// at gives an error the position of the innermost node it passed through.
func (m *interp) at(p Pos, err error) error {
	if r, ok := err.(*RuntimeError); ok && r.Line == 0 {
		r.Line, r.Col, r.Name = int(p.Line), int(p.Col), m.name
	}
	return err
}
