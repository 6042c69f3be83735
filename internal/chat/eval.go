package chat

import "strings"

// eval evaluates an expression; errors get the position of the innermost node.
func (m *machine) eval(f *frame, x expr) (Value, error) {
	if err := m.enter(); err != nil {
		return nil, m.at(nodePos(x), err)
	}
	v, err := x.eval(m, f)
	m.leave()
	if err != nil {
		return nil, m.at(nodePos(x), err)
	}
	return v, nil
}

func (m *machine) evalAll(f *frame, list []expr) ([]Value, error) {
	if err := m.alloc(16 * len(list)); err != nil {
		return nil, err
	}
	vals := make([]Value, len(list))
	for i, x := range list {
		v, err := m.eval(f, x)
		if err != nil {
			return nil, err
		}
		vals[i] = v
	}
	return vals, nil
}

func (x *constExpr) eval(*machine, *frame) (Value, error) { return x.v, nil }

func (x *nameExpr) eval(_ *machine, f *frame) (Value, error) {
	v := *f.at(x.ref)
	if v == missing {
		return undefinedName(x.name), nil
	}
	return v, nil
}

func (x *seqExpr) eval(m *machine, f *frame) (Value, error) {
	items, err := m.evalAll(f, x.items)
	if err != nil {
		return nil, err
	}
	if x.tuple {
		return &Tuple{Items: items}, nil
	}
	return &List{Items: items}, nil
}

func (x *dictExpr) eval(m *machine, f *frame) (Value, error) {
	d := &Map{}
	for i := range x.keys {
		k, err := m.eval(f, x.keys[i])
		if err != nil {
			return nil, err
		}
		v, err := m.eval(f, x.vals[i])
		if err != nil {
			return nil, err
		}
		if err := m.put(d, k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// put is Map.Set, charged for.
func (m *machine) put(d *Map, k, v Value) error {
	n := 64
	if s, ok := text(k); ok {
		n += len(s)
	}
	if err := m.alloc(n); err != nil {
		return err
	}
	return d.Set(k, v)
}

func (x *unaryExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	switch x.op {
	case "not":
		return !truth(v), nil
	case "-":
		return negate(v)
	}
	if i, ok := asInt(v); ok {
		return i, nil
	}
	if _, ok := v.(float64); ok {
		return v, nil
	}
	if u, ok := v.(*undefined); ok {
		return nil, u.err()
	}
	return nil, typeError("bad operand type for unary +: '%s'", typeName(v))
}

func (x *logicExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil || truth(v) != x.and {
		return v, err
	}
	return m.eval(f, x.y)
}

func (x *compareExpr) eval(m *machine, f *frame) (Value, error) {
	a, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	for i, op := range x.ops {
		b, err := m.eval(f, x.ys[i])
		if err != nil {
			return nil, err
		}
		ok, err := m.compare(op, a, b)
		if err != nil || !ok {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (x *concatExpr) eval(m *machine, f *frame) (Value, error) {
	var b strings.Builder
	vals, err := m.evalAll(f, x.items)
	if err != nil {
		return nil, err
	}
	for _, v := range vals {
		s, err := m.str(v)
		if err != nil {
			return nil, err
		}
		if err := m.alloc(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (x *condExpr) eval(m *machine, f *frame) (Value, error) {
	t, err := m.eval(f, x.test)
	switch {
	case err != nil:
		return nil, err
	case truth(t):
		return m.eval(f, x.x)
	case x.y != nil:
		return m.eval(f, x.y)
	}
	return &undefined{kind: KindUndefined, msg: "the inline if-expression evaluated to false and no else section was defined."}, nil
}

func (x *binaryExpr) eval(m *machine, f *frame) (Value, error) {
	a, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	b, err := m.eval(f, x.y)
	if err != nil {
		return nil, err
	}
	return m.binary(x.op, a, b)
}

// binary computes a op b as Python does, Markup and undefined values included.
func (m *machine) binary(op string, a, b Value) (Value, error) {
	if isNumber(a) && isNumber(b) {
		return arith(op, a, b)
	}
	if u, ok := a.(*undefined); ok {
		return nil, u.err()
	}
	if s, ok := text(a); ok && op == "%" {
		return m.percent(a, s, b)
	}
	if u, ok := b.(*undefined); ok {
		return nil, u.err()
	}
	switch op {
	case "+":
		if v, ok, err := m.add(a, b); ok || err != nil {
			return v, err
		}
	case "*":
		if n, ok := smallInt(b); ok {
			if v, ok, err := m.repeat(a, n); ok || err != nil {
				return v, err
			}
		}
		if n, ok := smallInt(a); ok {
			if v, ok, err := m.repeat(b, n); ok || err != nil {
				return v, err
			}
		}
	}
	return nil, typeError("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
}

// add concatenates strings, lists or tuples.
func (m *machine) add(a, b Value) (v Value, ok bool, err error) {
	switch x := a.(type) {
	case string, markup:
		s, _ := text(a)
		t, ok := text(b)
		if !ok {
			return nil, false, typeError(`can only concatenate str (not "%s") to str`, typeName(b))
		}
		_, aSafe := a.(markup)
		_, bSafe := b.(markup)
		if err := m.alloc(len(s) + len(t)); err != nil {
			return nil, false, err
		}
		switch {
		case aSafe && !bSafe:
			t = htmlEscaper.Replace(t)
		case bSafe && !aSafe:
			s = htmlEscaper.Replace(s)
		}
		if aSafe || bSafe {
			return markup(s + t), true, nil
		}
		return s + t, true, nil
	case *List:
		if y, ok := b.(*List); ok {
			items, err := m.join(x.Items, y.Items)
			return &List{Items: items}, true, err
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			items, err := m.join(x.Items, y.Items)
			return &Tuple{Items: items}, true, err
		}
	}
	return nil, false, nil
}

func (m *machine) join(a, b []Value) ([]Value, error) {
	if err := m.alloc(16 * (len(a) + len(b))); err != nil {
		return nil, err
	}
	return append(append(make([]Value, 0, len(a)+len(b)), a...), b...), nil
}

// repeat is a sequence times n.
func (m *machine) repeat(a Value, n int64) (v Value, ok bool, err error) {
	n = max(n, 0)
	size := func(unit int) error {
		if unit > 0 && n > m.lim.Bytes/int64(unit) {
			return fail(KindLimit, "more than %d bytes of intermediate values", m.lim.Bytes)
		}
		return m.alloc(unit * int(n))
	}
	switch x := a.(type) {
	case string, markup:
		s, _ := text(a)
		if err := size(len(s)); err != nil || s == "" {
			return like(a, ""), true, err
		}
		return like(a, strings.Repeat(s, int(n))), true, nil
	case *List:
		if err := size(16 * len(x.Items)); err != nil {
			return nil, false, err
		}
		return &List{Items: repeatItems(x.Items, n)}, true, nil
	case *Tuple:
		if err := size(16 * len(x.Items)); err != nil {
			return nil, false, err
		}
		return &Tuple{Items: repeatItems(x.Items, n)}, true, nil
	}
	return nil, false, nil
}

func repeatItems(items []Value, n int64) []Value {
	if len(items) == 0 {
		return nil
	}
	out := make([]Value, 0, len(items)*int(n))
	for range n {
		out = append(out, items...)
	}
	return out
}

func (x *attrExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	return m.getattr(v, x.name)
}

func (x *itemExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	k, err := m.eval(f, x.key)
	if err != nil {
		return nil, err
	}
	return m.getitem(v, k)
}

func (x *sliceExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range []expr{x.start, x.stop, x.step} {
		if b == nil {
			continue
		}
		if bounds[i], err = m.eval(f, b); err != nil {
			return nil, err
		}
	}
	return m.slice(v, bounds)
}

func (x *filterExpr) eval(m *machine, f *frame) (Value, error) {
	if x.x == nil { // only inside a set or filter block, which calls apply
		return nil, typeError("a filter without a value")
	}
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	return x.call(m, f, v)
}

func (x *filterExpr) call(m *machine, f *frame, v Value) (Value, error) {
	if x.fn == nil {
		return nil, fail(KindName, "%s", unknownName("filter", x.name))
	}
	a, err := x.args.values(m, f)
	if err != nil {
		return nil, err
	}
	return x.fn.apply(m, x.name, v, a)
}

// apply runs a chain of filters that starts without a value on a text.
func (x *filterExpr) apply(m *machine, f *frame, in string) (v Value, err error) {
	v = in
	if inner, ok := x.x.(*filterExpr); ok {
		if v, err = inner.apply(m, f, in); err != nil {
			return nil, err
		}
	}
	v, err = x.call(m, f, v)
	return v, m.at(x.pos, err)
}

func (x *testExpr) eval(m *machine, f *frame) (Value, error) {
	v, err := m.eval(f, x.x)
	if err != nil {
		return nil, err
	}
	if x.fn == nil {
		return nil, fail(KindName, "%s", unknownName("test", x.name))
	}
	a, err := x.args.values(m, f)
	if err != nil {
		return nil, err
	}
	return x.fn.apply(m, x.name, v, a)
}

func (x *callExpr) eval(m *machine, f *frame) (Value, error) { return x.run(m, f, nil) }

// run evaluates a call; caller, if not nil, is passed along for a call block.
func (x *callExpr) run(m *machine, f *frame, caller *macro) (Value, error) {
	fn, err := m.eval(f, x.fn)
	if err != nil {
		return nil, err
	}
	a, err := x.args.values(m, f)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		if err := a.add("caller", caller); err != nil {
			return nil, err
		}
	}
	v, err := m.call(fn, a)
	return v, m.at(x.pos, err)
}
