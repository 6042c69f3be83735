package chat

import (
	"strings"
)

// eval evaluates an expression; errors get the position of the innermost node.
func (m *interp) eval(f *frame, x Expr) (Value, error) {
	if err := m.Enter(); err != nil {
		return nil, m.at(posOf(x), err)
	}
	v, err := m.dispatch(f, x)
	m.Leave()
	if err != nil {
		return nil, m.at(posOf(x), err)
	}
	return v, nil
}

func (m *interp) dispatch(f *frame, x Expr) (Value, error) {
	switch x := x.(type) {
	case *constExpr:
		if x.Own > 0 && m.own != nil {
			return m.own[x.Own-1], nil
		}
		return x.Value, nil
	case *nameExpr:
		return m.evalName(f, x)
	case *seqExpr:
		return m.evalSeq(f, x)
	case *dictExpr:
		return m.evalDict(f, x)
	case *unaryExpr:
		return m.evalUnary(f, x)
	case *binaryExpr:
		return m.evalBinary(f, x)
	case *logicExpr:
		return m.evalLogic(f, x)
	case *compareExpr:
		return m.evalCompare(f, x)
	case *concatExpr:
		return m.evalConcat(f, x)
	case *condExpr:
		return m.evalCond(f, x)
	case *attrExpr:
		return m.evalAttr(f, x)
	case *itemExpr:
		return m.evalItem(f, x)
	case *sliceExpr:
		return m.evalSlice(f, x)
	case *callExpr:
		return m.runCall(f, x, nil)
	case *filterExpr:
		return m.evalFilter(f, x)
	case *testExpr:
		return m.evalTest(f, x)
	}
	return nil, typeError("expression %T", x)
}

func (m *interp) evalAll(f *frame, list []Expr) ([]Value, error) {
	if err := m.Alloc(16 * len(list)); err != nil {
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

func (m *interp) evalTwo(f *frame, x, y Expr) (a, b Value, err error) {
	if a, err = m.eval(f, x); err == nil {
		b, err = m.eval(f, y)
	}
	return a, b, err
}

func (m *interp) evalName(f *frame, x *nameExpr) (Value, error) {
	v := *f.at(x.Ref)
	if v == missing {
		return undefinedName(x.Name), nil
	}
	return v, nil
}

func (m *interp) evalSeq(f *frame, x *seqExpr) (Value, error) {
	items, err := m.evalAll(f, x.Items)
	if err != nil {
		return nil, err
	}
	if x.Tuple {
		return &Tuple{Items: items}, nil
	}
	return &List{Items: items}, nil
}

func (m *interp) evalDict(f *frame, x *dictExpr) (Value, error) {
	d := &Map{}
	for i := range x.Keys {
		k, v, err := m.evalTwo(f, x.Keys[i], x.Vals[i])
		if err != nil {
			return nil, err
		}
		if err := m.Put(d, k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (m *interp) evalUnary(f *frame, x *unaryExpr) (Value, error) {
	v, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	if x.Op == "not" {
		return !truth(v), nil
	}
	return signed(x.Op, v)
}

func (m *interp) evalLogic(f *frame, x *logicExpr) (Value, error) {
	v, err := m.eval(f, x.X)
	if err != nil || truth(v) != x.And {
		return v, err
	}
	return m.eval(f, x.Y)
}

func (m *interp) evalCompare(f *frame, x *compareExpr) (Value, error) {
	a, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	for i, op := range x.Ops {
		b, err := m.eval(f, x.Ys[i])
		if err != nil {
			return nil, err
		}
		ok, err := m.Compare(op, a, b)
		if err != nil || !ok {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (m *interp) evalConcat(f *frame, x *concatExpr) (Value, error) {
	var b strings.Builder
	vals, err := m.evalAll(f, x.Items)
	if err != nil {
		return nil, err
	}
	for _, v := range vals {
		s, err := m.Str(v)
		if err != nil {
			return nil, err
		}
		if err := m.Alloc(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (m *interp) evalCond(f *frame, x *condExpr) (Value, error) {
	t, err := m.eval(f, x.Test)
	switch {
	case err != nil:
		return nil, err
	case truth(t):
		return m.eval(f, x.X)
	case x.Y != nil:
		return m.eval(f, x.Y)
	}
	return &undefined{Kind: kindUndefined, Msg: "the inline if-expression evaluated to false and no else section was defined."}, nil
}

func (m *interp) evalBinary(f *frame, x *binaryExpr) (Value, error) {
	a, b, err := m.evalTwo(f, x.X, x.Y)
	if err != nil {
		return nil, err
	}
	return binary(m.Machine, x.Op, a, b)
}

func (m *interp) evalAttr(f *frame, x *attrExpr) (Value, error) {
	v, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	return attr(m.Machine, v, x.Name)
}

func (m *interp) evalItem(f *frame, x *itemExpr) (Value, error) {
	v, k, err := m.evalTwo(f, x.X, x.Key)
	if err != nil {
		return nil, err
	}
	return item(m.Machine, v, k)
}

func (m *interp) evalSlice(f *frame, x *sliceExpr) (Value, error) {
	v, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range []Expr{x.Start, x.Stop, x.Step} {
		if b == nil {
			continue
		}
		if bounds[i], err = m.eval(f, b); err != nil {
			return nil, err
		}
	}
	return slice(m.Machine, v, bounds)
}

func (m *interp) evalFilter(f *frame, x *filterExpr) (Value, error) {
	if x.X == nil { // only inside a set or filter block, which calls apply
		return nil, typeError("a filter without a value")
	}
	v, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	return m.apply(f, "filter", v, x.Name, x.Fn, &x.Args)
}

// apply runs a filter or test, which the resolver has looked up.
func (m *interp) apply(f *frame, kind string, v Value, name string, fn *functionType, args *argsExpr) (Value, error) {
	if fn == nil {
		return nil, fail(kindName, "%s", unknown(kind, name))
	}
	a, err := m.args(f, args)
	if err != nil {
		return nil, err
	}
	return fn.Apply(m.Machine, name, v, a)
}

// filterText runs a chain of filters that starts without a value on a text.
func (m *interp) filterText(f *frame, x *filterExpr, in string) (v Value, err error) {
	v = in
	if inner, ok := x.X.(*filterExpr); ok {
		if v, err = m.filterText(f, inner, in); err != nil {
			return nil, err
		}
	}
	v, err = m.apply(f, "filter", v, x.Name, x.Fn, &x.Args)
	return v, m.at(x.Pos, err)
}

func (m *interp) evalTest(f *frame, x *testExpr) (Value, error) {
	v, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	return m.apply(f, "test", v, x.Name, x.Fn, &x.Args)
}

// runCall evaluates a call; caller, if not nil, is passed along for a call block.
func (m *interp) runCall(f *frame, x *callExpr, caller *macro) (Value, error) {
	fn, err := m.eval(f, x.Fn)
	if err != nil {
		return nil, err
	}
	a, err := m.args(f, &x.Args)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		if err := a.Add("caller", caller); err != nil {
			return nil, err
		}
	}
	v, err := m.Machine.Call(fn, a)
	return v, m.at(x.Pos, err)
}
