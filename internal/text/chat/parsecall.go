package chat

import "slices"

func (p *parser) callArgs() (a argsExpr, err error) {
	at := p.cur.pos
	bad := func() error { return p.errorAt(at, "call", "invalid order of arguments") }
	err = p.items(")", func() (err error) {
		switch {
		case p.is("*"):
			if a.Star != nil || a.Dstar != nil {
				return bad()
			}
			if err := p.advance(); err != nil {
				return err
			}
			a.Star, err = p.expression(true)
			return err
		case p.is("**"):
			if a.Dstar != nil {
				return bad()
			}
			if err := p.advance(); err != nil {
				return err
			}
			a.Dstar, err = p.expression(true)
			return err
		}
		if t := p.cur; t.kind == tokName {
			next, err := p.look()
			if err != nil {
				return err
			}
			if next.kind == "=" {
				if a.Dstar != nil {
					return bad()
				}
				if len(a.Named) == maxParams {
					return p.errorAt(t.pos, "call", "more than %d keyword arguments", maxParams)
				}
				if slices.ContainsFunc(a.Named, func(k kwExpr) bool { return k.Name == t.text }) {
					return p.errorAt(t.pos, t.text, "keyword argument %q is repeated", t.text)
				}
				if err := p.advance(); err != nil {
					return err
				}
				if err := p.advance(); err != nil {
					return err
				}
				x, err := p.expression(true)
				a.Named = append(a.Named, kwExpr{t.text, x})
				return err
			}
		}
		if a.Star != nil || a.Dstar != nil || len(a.Named) > 0 {
			return bad()
		}
		x, err := p.expression(true)
		a.Pos = append(a.Pos, x)
		return err
	})
	return a, err
}

func (p *parser) call(fn Expr) (Expr, error) {
	at := p.cur.pos
	args, err := p.callArgs()
	return &callExpr{Pos: at, Fn: fn, Args: args}, err
}

// dotted parses the name of a filter or test.
func (p *parser) dotted() (token, error) {
	t, err := p.expect(tokName)
	for err == nil && p.is(".") {
		if err = p.advance(); err == nil {
			var u token
			u, err = p.expect(tokName)
			t.text += "." + u.text
		}
	}
	return t, err
}

// filters parses "| name(…)" any number of times; inline starts at the name.
func (p *parser) filters(x Expr, inline bool) (Expr, error) {
	for p.is("|") || inline {
		if !inline {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		inline = false
		t, err := p.dotted()
		if err != nil {
			return nil, err
		}
		f := &filterExpr{Pos: t.pos, X: x, Name: t.text}
		if p.is("(") {
			if f.Args, err = p.callArgs(); err != nil {
				return nil, err
			}
		}
		x = f
	}
	return x, nil
}

func (p *parser) test(x Expr) (Expr, error) {
	if err := p.advance(); err != nil { // is
		return nil, err
	}
	at := p.cur.pos
	negated, err := p.acceptName("not")
	if err != nil {
		return nil, err
	}
	t, err := p.dotted()
	if err != nil {
		return nil, err
	}
	n := &testExpr{Pos: t.pos, X: x, Name: t.text}
	switch p.cur.kind {
	case "(":
		if n.Args, err = p.callArgs(); err != nil {
			return nil, err
		}
	case tokName, tokString, tokNumber, "[", "{":
		if p.isName("else") || p.isName("or") || p.isName("and") {
			break
		}
		if p.isName("is") {
			return nil, p.errorAt(p.cur.pos, "is", "tests cannot be chained with is")
		}
		arg, err := p.primary()
		if err != nil {
			return nil, err
		}
		if arg, err = p.postfix(arg); err != nil {
			return nil, err
		}
		n.Args.Pos = []Expr{arg}
	}
	if negated {
		return &unaryExpr{Pos: at, Op: "not", X: n}, nil
	}
	return n, nil
}
