package chat

import (
	"fmt"
)

// A loop is the variable loop inside a for.
type loop struct {
	it     *Iterator
	n      int // of the whole iteration, or -1
	index0 int
	depth0 int

	before, current, after Value // missing where there is none
	changed                []Value
	hasChanged             bool
	recurse                func(v Value, depth int) (Value, error) // nil: not recursive
}

func (l *loop) peek(m *Machine) (Value, error) {
	if l.after == missing {
		v, ok, err := l.it.Next(m)
		if err != nil {
			return nil, err
		}
		if ok {
			l.after = v
		}
	}
	return l.after, m.Step(1)
}

// Size reads a lazy iteration to its end to learn its length, as Jinja does.
func (l *loop) Size(m *Machine) (int, error) {
	if l.n < 0 {
		rest, err := m.Collect(l.it)
		if err != nil {
			return 0, err
		}
		l.it = iterateOver(rest)
		l.n = len(rest) + l.index0 + 1
		if l.after != missing {
			l.n++
		}
	}
	return l.n, nil
}

// TypeName names the type as Python does.
func (l *loop) TypeName() string { return "LoopContext" }

// Repr is Python's repr().
func (l *loop) Repr(m *Machine) (string, error) {
	n, err := l.Size(m)
	return fmt.Sprintf("<LoopContext %d/%d>", l.index0+1, n), err
}

// Attr returns an attribute of the loop variable.
func (l *loop) Attr(m *Machine, name string) (Value, bool, error) {
	switch name {
	case "index":
		return int64(l.index0 + 1), true, nil
	case "index0":
		return int64(l.index0), true, nil
	case "first":
		return l.index0 == 0, true, nil
	case "depth":
		return int64(l.depth0 + 1), true, nil
	case "depth0":
		return int64(l.depth0), true, nil
	case "length", "revindex", "revindex0":
		n, err := l.Size(m)
		switch name {
		case "revindex":
			n -= l.index0
		case "revindex0":
			n -= l.index0 + 1
		}
		return int64(n), true, err
	case "last":
		v, err := l.peek(m)
		return v == missing, true, err
	case "previtem":
		if l.index0 == 0 {
			return &undefined{Kind: kindUndefined, Msg: "there is no previous item"}, true, nil
		}
		return l.before, true, nil
	case "nextitem":
		v, err := l.peek(m)
		if v == missing {
			v = &undefined{Kind: kindUndefined, Msg: "there is no next item"}
		}
		return v, true, err
	case "cycle":
		return &function{Name: name, Method: true, Call: l.cycle}, true, nil
	case "changed":
		return &function{Name: name, Method: true, Call: l.isChanged}, true, nil
	}
	return nil, false, nil
}

func (l *loop) cycle(_ *Machine, a *Args) (Value, error) {
	if len(a.Pos) == 0 || len(a.Named) > 0 {
		return nil, typeError("no items for cycling given")
	}
	return a.Pos[l.index0%len(a.Pos)], nil
}

func (l *loop) isChanged(m *Machine, a *Args) (Value, error) {
	if len(a.Named) > 0 {
		return nil, typeError("changed() takes no keyword arguments")
	}
	if l.hasChanged {
		eq, err := m.EqualItems(l.changed, a.Pos, 0)
		if err != nil || eq {
			return false, err
		}
	}
	l.changed, l.hasChanged = a.Pos, true
	return true, nil
}

// Call calls the object.
func (l *loop) Call(_ *Machine, a *Args) (Value, error) {
	v, err := a.Bind("loop", "iterable")
	if err != nil {
		return nil, err
	}
	if l.recurse == nil {
		return nil, typeError("the loop must have the 'recursive' marker to be called recursively")
	}
	return l.recurse(v[0], l.depth0+1)
}

func (m *interp) execFor(f *frame, s *forStmt) (flow, error) {
	v, err := m.eval(f, s.Iter)
	if err != nil {
		return flowNext, err
	}
	if !s.Recursive {
		return m.loop(f, f, s, v, 0, nil)
	}
	text, err := m.recurse(f, s, v, 0)
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.write(text)
}

// recurse runs a recursive loop at some depth; f is the frame around it.
func (m *interp) recurse(f *frame, s *forStmt, v Value, depth int) (string, error) {
	if err := m.enterCall(); err != nil {
		return "", err
	}
	defer m.leaveCall()
	again := func(v Value, depth int) (Value, error) { return m.recurse(f, s, v, depth) }
	return m.capture(func() error {
		inner, err := m.newFrame(s.Fn, f, f.ctx)
		if err == nil {
			_, err = m.loop(inner, f, s, v, depth, again)
		}
		return err
	})
}

// loop runs the body in the frame f for each value of v. The loop's test is a
// function of the frame outer.
func (m *interp) loop(f, outer *frame, s *forStmt, v Value, depth int, recurse func(Value, int) (Value, error)) (flow, error) {
	it, err := m.Iterate(v)
	if err != nil {
		return flowNext, err
	}
	if s.Test != nil {
		if it, err = m.filtered(outer, s, it); err != nil {
			return flowNext, err
		}
	}
	l := &loop{it: it, n: -1, index0: -1, depth0: depth, before: missing, current: missing, after: missing, recurse: recurse}
	if _, ok := v.(*Iterator); !ok && s.Test == nil {
		l.n = it.Rest
	}
	if s.LoopSlot >= 0 {
		f.slots[s.LoopSlot] = l
	}
	ran := false
	for {
		x, err := l.peek(m.Machine)
		if err != nil {
			return flowNext, err
		}
		if x == missing {
			break
		}
		l.after = missing
		l.index0++
		l.before, l.current = l.current, x
		if err := m.assign(f, s.Target, x, false); err != nil {
			return flowNext, err
		}
		if err := m.open(f, s.Body0); err != nil {
			return flowNext, err
		}
		fl, err := m.run(f, s.Body)
		if err != nil {
			return flowNext, err
		}
		if fl == flowBreak {
			break
		}
		ran = ran || fl == flowNext // as in Jinja: an iteration cut short does not count
	}
	m.close(f, s.Body0)
	if s.Els != nil && !ran {
		return m.within(f, s.Els0, s.Els)
	}
	return flowNext, nil
}

// filtered is the iteration over those values of it that pass the test.
func (m *interp) filtered(outer *frame, s *forStmt, it *Iterator) (*Iterator, error) {
	f, err := m.newFrame(s.TestFn, outer, outer.ctx)
	if err != nil {
		return nil, err
	}
	opened := false
	return generator(func() (Value, bool, error) {
		if !opened {
			opened = true
			if err := m.open(f, s.TestEntry); err != nil {
				return nil, false, err
			}
		}
		for {
			x, ok, err := it.Next(m.Machine)
			if err != nil || !ok {
				return nil, false, err
			}
			if err := m.assign(f, s.TestTarget, x, false); err != nil {
				return nil, false, err
			}
			v, err := m.eval(f, s.Test)
			if err != nil {
				return nil, false, err
			}
			if truth(v) {
				return x, true, nil
			}
		}
	}), nil
}
