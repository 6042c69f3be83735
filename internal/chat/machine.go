package chat

import (
	"strings"
	"time"
	"unicode/utf8"
)

// A machine renders one conversation.
type machine struct {
	name  string
	lim   Limits
	steps int64 // left
	bytes int64 // left
	calls int
	depth int
	now   time.Time

	out, root *sink
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

func newSlots(fn *funcInfo) []Value {
	s := make([]Value, fn.slots)
	for i := range s {
		s[i] = missing
	}
	return s
}

func (f *frame) at(r slotRef) *Value {
	for range r.hops {
		f = f.up
	}
	return &f.slots[r.slot]
}

// open gives the variables of a scope their first values.
func (m *machine) open(f *frame, e entry) {
	for _, l := range e.loads {
		switch l.kind {
		case loadResolve:
			f.slots[l.slot] = f.ctx.resolve(l.name)
		case loadAlias:
			f.slots[l.slot] = *f.at(l.from)
		default:
			f.slots[l.slot] = missing
		}
	}
}

func (m *machine) close(f *frame, e entry) {
	for _, s := range e.clear {
		f.slots[s] = missing
	}
}

// A sink collects text: the result, or what a macro or block captures.
type sink struct {
	b       strings.Builder
	root    bool
	counted int // bytes whose code points are in points
	points  int
}

func (m *machine) write(s string) error {
	if m.out.root {
		if int64(m.out.b.Len()+len(s)) > m.lim.Output {
			return fail(KindLimit, "more than %d bytes of output", m.lim.Output)
		}
	}
	if err := m.alloc(len(s)); err != nil {
		return err
	}
	m.out.b.WriteString(s)
	return nil
}

// capture runs f and returns what it wrote.
func (m *machine) capture(f func() error) (string, error) {
	outer := m.out
	m.out = &sink{}
	err := f()
	s := m.out.b.String()
	m.out = outer
	return s, err
}

// written is the length of the result so far, in code points.
func (m *machine) written() int {
	s := m.root.b.String()
	m.root.points += utf8.RuneCountInString(s[m.root.counted:])
	m.root.counted = len(s)
	return m.root.points
}

// step charges n units of work.
func (m *machine) step(n int) error {
	if m.steps -= int64(n); m.steps < 0 {
		return fail(KindLimit, "more than %d steps", m.lim.Steps)
	}
	return nil
}

// alloc charges n bytes of memory and the work of filling them.
func (m *machine) alloc(n int) error {
	if m.bytes -= int64(n); m.bytes < 0 {
		return fail(KindLimit, "more than %d bytes of intermediate values", m.lim.Bytes)
	}
	return m.step(1 + n/32)
}

// maxEval bounds the evaluation of nodes inside each other, through all calls.
const maxEval = 20000

func (m *machine) enter() error {
	if m.depth++; m.depth > maxEval {
		return fail(KindLimit, "evaluation nested deeper than %d", maxEval)
	}
	return m.step(1)
}

func (m *machine) leave() { m.depth-- }

// call guards the depth of calls; each is paired with uncall.
func (m *machine) enterCall() error {
	if m.calls++; m.calls > m.lim.Calls {
		return fail(KindLimit, "more than %d calls inside each other", m.lim.Calls)
	}
	return nil
}

func (m *machine) leaveCall() { m.calls-- }
