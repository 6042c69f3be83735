package chat

// A loop is the variable loop inside a for.
type loop struct {
	it     *iterator
	size   int // of the whole iteration, or -1
	index0 int
	depth0 int

	before, current, after Value // missing where there is none
	changed                []Value
	hasChanged             bool
	recurse                func(m *machine, v Value, depth int) (Value, error) // nil: not recursive
}

func (l *loop) peek(m *machine) (Value, error) {
	if l.after == missing {
		v, ok, err := l.it.next()
		if err != nil {
			return nil, err
		}
		if ok {
			l.after = v
		}
	}
	return l.after, m.step(1)
}

// length reads a lazy iteration to its end to learn its length, as Jinja does.
func (l *loop) length(m *machine) (int, error) {
	if l.size < 0 {
		rest, err := m.collect(l.it)
		if err != nil {
			return 0, err
		}
		l.it = sliceIterator(rest)
		l.size = len(rest) + l.index0 + 1
		if l.after != missing {
			l.size++
		}
	}
	return l.size, nil
}

// attr returns an attribute of the loop variable.
func (l *loop) attr(m *machine, name string) (Value, bool, error) {
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
		n, err := l.length(m)
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
			return &undefined{kind: KindUndefined, msg: "there is no previous item"}, true, nil
		}
		return l.before, true, nil
	case "nextitem":
		v, err := l.peek(m)
		if v == missing {
			v = &undefined{kind: KindUndefined, msg: "there is no next item"}
		}
		return v, true, err
	case "cycle":
		return &function{name: name, method: true, call: l.cycle}, true, nil
	case "changed":
		return &function{name: name, method: true, call: l.isChanged}, true, nil
	}
	return nil, false, nil
}

func (l *loop) cycle(_ *machine, a *callArgs) (Value, error) {
	if len(a.pos) == 0 || len(a.kw) > 0 {
		return nil, typeError("no items for cycling given")
	}
	return a.pos[l.index0%len(a.pos)], nil
}

func (l *loop) isChanged(m *machine, a *callArgs) (Value, error) {
	if len(a.kw) > 0 {
		return nil, typeError("changed() takes no keyword arguments")
	}
	if l.hasChanged {
		eq, err := m.equalItems(l.changed, a.pos, 0)
		if err != nil || eq {
			return false, err
		}
	}
	l.changed, l.hasChanged = a.pos, true
	return true, nil
}

func (l *loop) call(m *machine, a *callArgs) (Value, error) {
	v, err := a.bind("loop", "iterable")
	if err != nil {
		return nil, err
	}
	if l.recurse == nil {
		return nil, typeError("the loop must have the 'recursive' marker to be called recursively")
	}
	return l.recurse(m, v[0], l.depth0+1)
}

func (s *forStmt) exec(m *machine, f *frame) (flow, error) {
	v, err := m.eval(f, s.iter)
	if err != nil {
		return flowNext, err
	}
	if !s.recursive {
		return s.loop(m, f, f, v, 0, nil)
	}
	text, err := s.recurse(m, f, v, 0)
	if err != nil {
		return flowNext, err
	}
	return flowNext, m.write(text)
}

// recurse runs a recursive loop at some depth; f is the frame around it.
func (s *forStmt) recurse(m *machine, f *frame, v Value, depth int) (string, error) {
	if err := m.enterCall(); err != nil {
		return "", err
	}
	defer m.leaveCall()
	again := func(m *machine, v Value, depth int) (Value, error) { return s.recurse(m, f, v, depth) }
	return m.capture(func() error {
		_, err := s.loop(m, &frame{slots: newSlots(s.fn), up: f, ctx: f.ctx}, f, v, depth, again)
		return err
	})
}

// loop runs the body in the frame f for each value of v. The loop's test is a
// function of the frame outer.
func (s *forStmt) loop(m *machine, f, outer *frame, v Value, depth int, recurse func(*machine, Value, int) (Value, error)) (flow, error) {
	it, err := m.iterate(v)
	if err != nil {
		return flowNext, err
	}
	if s.test != nil {
		it = s.filtered(m, outer, it)
	}
	l := &loop{it: it, size: -1, index0: -1, depth0: depth, before: missing, current: missing, after: missing, recurse: recurse}
	if _, ok := v.(*iterator); !ok && s.test == nil {
		l.size = it.rest
	}
	if s.loopSlot >= 0 {
		f.slots[s.loopSlot] = l
	}
	ran := false
	for {
		x, err := l.peek(m)
		if err != nil {
			return flowNext, err
		}
		if x == missing {
			break
		}
		l.after = missing
		l.index0++
		l.before, l.current = l.current, x
		if err := m.assign(f, s.target, x, false); err != nil {
			return flowNext, err
		}
		m.open(f, s.body0)
		fl, err := m.run(f, s.body)
		if err != nil {
			return flowNext, err
		}
		if fl == flowBreak {
			break
		}
		ran = ran || fl == flowNext // as in Jinja: an iteration cut short does not count
	}
	m.close(f, s.body0)
	if s.els != nil && !ran {
		m.open(f, s.els0)
		fl, err := m.run(f, s.els)
		m.close(f, s.els0)
		return fl, err
	}
	return flowNext, nil
}

// filtered is the iteration over those values of it that pass the test.
func (s *forStmt) filtered(m *machine, outer *frame, it *iterator) *iterator {
	f := &frame{slots: newSlots(s.testFn), up: outer, ctx: outer.ctx}
	opened := false
	return generator(func() (Value, bool, error) {
		if !opened {
			m.open(f, s.testEntry)
			opened = true
		}
		for {
			x, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			if err := m.step(1); err != nil {
				return nil, false, err
			}
			if err := m.assign(f, s.testTarget, x, false); err != nil {
				return nil, false, err
			}
			v, err := m.eval(f, s.test)
			if err != nil {
				return nil, false, err
			}
			if truth(v) {
				return x, true, nil
			}
		}
	})
}
