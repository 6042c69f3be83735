package chat

import (
	"slices"
	"strings"
)

// tupleOpts says what a comma-separated list of expressions may hold.
type tupleOpts struct {
	cond   bool   // inline if
	end    string // a name that ends the tuple
	parens bool   // inside parentheses: () is a tuple
}

func (p *parser) tupleEnd(end string) bool {
	switch p.cur.kind {
	case tokVarEnd, tokTagEnd, ")":
		return true
	}
	return end != "" && p.isName(end)
}

// tuple parses an expression or several with commas.
func (p *parser) tuple(o tupleOpts) (expr, error) {
	at := p.cur.pos
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd(o.end) {
			break
		}
		x, err := p.expression(o.cond)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		if !p.is(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 1 {
			return items[0], nil
		}
		if !o.parens {
			return nil, p.expected("an expression")
		}
	}
	return &seqExpr{pos: at, tuple: true, items: items}, nil
}

// target parses what an assignment stores to: names, tuples of names and, with
// ns, attributes of namespaces.
func (p *parser) target(end string, ns bool) (*target, error) {
	at := p.cur.pos
	var items []*target
	isTuple := false
	for {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd(end) {
			break
		}
		t, err := p.oneTarget(ns)
		if err != nil {
			return nil, err
		}
		items = append(items, t)
		if !p.is(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 0 {
			return nil, p.expected("a name")
		}
		return items[0], nil
	}
	return &target{pos: at, items: items}, nil
}

func (p *parser) oneTarget(ns bool) (*target, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.cur
	switch {
	case t.kind == tokName && !reserved(t.text):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !ns || !p.is(".") {
			return &target{pos: t.pos, name: t.text}, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		attr, err := p.expect(tokName)
		return &target{pos: t.pos, name: t.text, attr: attr.text}, err
	case t.kind == "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.is(")") {
			return &target{pos: t.pos, items: []*target{}}, p.advance()
		}
		in, err := p.target("", false)
		if err != nil {
			return nil, err
		}
		_, err = p.expect(")")
		return in, err
	}
	return nil, p.errorAt(t.pos, t.describe(), "cannot assign to %q", t.describe())
}

func (p *parser) expression(cond bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if !cond {
		return p.or()
	}
	at := p.cur.pos
	x, err := p.or()
	for err == nil && p.isName("if") {
		if err = p.advance(); err != nil {
			break
		}
		c := &condExpr{pos: at, x: x}
		if c.test, err = p.or(); err != nil {
			break
		}
		var ok bool
		if ok, err = p.acceptName("else"); err != nil {
			break
		}
		if ok {
			c.y, err = p.expression(true)
		}
		x = c
	}
	return x, err
}

func (p *parser) or() (expr, error) {
	x, err := p.and()
	for err == nil && p.isName("or") {
		at := p.cur.pos
		if err = p.advance(); err == nil {
			var y expr
			y, err = p.and()
			x = &logicExpr{pos: at, x: x, y: y}
		}
	}
	return x, err
}

func (p *parser) and() (expr, error) {
	x, err := p.not()
	for err == nil && p.isName("and") {
		at := p.cur.pos
		if err = p.advance(); err == nil {
			var y expr
			y, err = p.not()
			x = &logicExpr{pos: at, and: true, x: x, y: y}
		}
	}
	return x, err
}

func (p *parser) not() (expr, error) {
	if !p.isName("not") {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	at := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	x, err := p.not()
	return &unaryExpr{pos: at, op: "not", x: x}, err
}

func (p *parser) comparison() (expr, error) {
	at := p.cur.pos
	x, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{x: x}
	for {
		op := ""
		switch {
		case slices.Contains([]tokenKind{"==", "!=", "<", "<=", ">", ">="}, p.cur.kind):
			op = string(p.cur.kind)
		case p.isName("in"):
			op = "in"
		case p.isName("not"):
			if t, err := p.look(); err != nil {
				return nil, err
			} else if t.kind == tokName && t.text == "in" {
				op = "not in"
				if err := p.advance(); err != nil {
					return nil, err
				}
			}
		}
		if op == "" {
			break
		}
		if len(c.ops) == 0 {
			at = p.cur.pos
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		y, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.ys = append(c.ops, op), append(c.ys, y)
	}
	if len(c.ops) == 0 {
		return x, nil
	}
	c.pos = at
	return c, nil
}

func (p *parser) sum() (expr, error) {
	x, err := p.concat()
	for err == nil && (p.is("+") || p.is("-")) {
		t := p.cur
		if err = p.advance(); err == nil {
			var y expr
			y, err = p.concat()
			x = &binaryExpr{pos: t.pos, op: string(t.kind), x: x, y: y}
		}
	}
	return x, err
}

func (p *parser) concat() (expr, error) {
	at := p.cur.pos
	x, err := p.product()
	if err != nil || !p.is("~") {
		return x, err
	}
	c := &concatExpr{pos: at, items: []expr{x}}
	for p.is("~") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.product()
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, x)
	}
	return c, nil
}

func (p *parser) product() (expr, error) {
	x, err := p.power()
	for err == nil && (p.is("*") || p.is("/") || p.is("//") || p.is("%")) {
		t := p.cur
		if err = p.advance(); err == nil {
			var y expr
			y, err = p.power()
			x = &binaryExpr{pos: t.pos, op: string(t.kind), x: x, y: y}
		}
	}
	return x, err
}

// power is left associative, unlike Python's.
func (p *parser) power() (expr, error) {
	x, err := p.unary(true)
	for err == nil && p.is("**") {
		t := p.cur
		if err = p.advance(); err == nil {
			var y expr
			y, err = p.unary(true)
			x = &binaryExpr{pos: t.pos, op: "**", x: x, y: y}
		}
	}
	return x, err
}

func (p *parser) unary(filters bool) (x expr, err error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.cur
	if t.kind == "-" || t.kind == "+" {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if x, err = p.unary(false); err != nil {
			return nil, err
		}
		x = &unaryExpr{pos: t.pos, op: string(t.kind), x: x}
	} else if x, err = p.primary(); err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !filters {
		return x, err
	}
	for err == nil {
		switch {
		case p.is("|"):
			x, err = p.filters(x, false)
		case p.isName("is"):
			x, err = p.test(x)
		case p.is("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (expr, error) {
	t := p.cur
	switch t.kind {
	case tokName:
		var x expr
		switch t.text {
		case "true", "True":
			x = &constExpr{true}
		case "false", "False":
			x = &constExpr{false}
		case "none", "None":
			x = &constExpr{nil}
		default:
			x = &nameExpr{pos: t.pos, name: t.text}
		}
		return x, p.advance()
	case tokString:
		var b strings.Builder
		for p.is(tokString) {
			b.WriteString(p.cur.text)
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		return &constExpr{b.String()}, nil
	case tokNumber:
		return &constExpr{t.val}, p.advance()
	case "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.tuple(tupleOpts{cond: true, parens: true})
		if err != nil {
			return nil, err
		}
		_, err = p.expect(")")
		return x, err
	case "[":
		x := &seqExpr{pos: t.pos}
		err := p.items("]", func() error {
			it, err := p.expression(true)
			x.items = append(x.items, it)
			return err
		})
		return x, err
	case "{":
		x := &dictExpr{pos: t.pos}
		err := p.items("}", func() error {
			k, err := p.expression(true)
			if err != nil {
				return err
			}
			if _, err := p.expect(":"); err != nil {
				return err
			}
			v, err := p.expression(true)
			x.keys, x.vals = append(x.keys, k), append(x.vals, v)
			return err
		})
		return x, err
	}
	return nil, p.errorAt(t.pos, t.describe(), "unexpected %q", t.describe())
}

// items parses a bracketed list with commas, one of which may end it.
func (p *parser) items(end tokenKind, item func() error) error {
	if err := p.advance(); err != nil {
		return err
	}
	for first := true; !p.is(end); first = false {
		if !first {
			if _, err := p.expect(","); err != nil {
				return err
			}
			if p.is(end) {
				break
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
	return p.advance()
}

func (p *parser) postfix(x expr) (_ expr, err error) {
	for err == nil {
		t := p.cur
		switch t.kind {
		case ".":
			if err := p.advance(); err != nil {
				return nil, err
			}
			a := p.cur
			switch {
			case a.kind == tokName:
				x = &attrExpr{pos: a.pos, x: x, name: a.text}
			case a.kind == tokNumber && typeName(a.val) == "int":
				x = &itemExpr{pos: a.pos, x: x, key: &constExpr{a.val}}
			default:
				return nil, p.expected("name or number")
			}
			err = p.advance()
		case "[":
			x, err = p.subscript(x)
		case "(":
			x, err = p.call(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

func (p *parser) subscript(x expr) (expr, error) {
	at := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	var keys []expr
	for !p.is("]") {
		if len(keys) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		k, err := p.subscribed(x)
		if err != nil {
			return nil, err
		}
		if s, ok := k.(*sliceExpr); ok && s.x == x && (len(keys) > 0 || !p.is("]")) {
			return nil, p.errorAt(s.pos, "slice", "a slice among other subscripts")
		}
		keys = append(keys, k)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if len(keys) == 1 {
		if s, ok := keys[0].(*sliceExpr); ok && s.x == x {
			return s, nil
		}
		return &itemExpr{pos: at, x: x, key: keys[0]}, nil
	}
	return &itemExpr{pos: at, x: x, key: &seqExpr{pos: at, tuple: true, items: keys}}, nil
}

// subscribed parses one subscript of x: an expression or a slice.
func (p *parser) subscribed(x expr) (k expr, err error) {
	s := &sliceExpr{pos: p.cur.pos, x: x}
	if !p.is(":") {
		if k, err = p.expression(true); err != nil || !p.is(":") {
			return k, err
		}
		s.start = k
	}
	for _, part := range []*expr{&s.stop, &s.step} {
		if ok, err := p.accept(":"); err != nil || !ok {
			return s, err
		}
		if !p.is(":") && !p.is("]") && !p.is(",") {
			if *part, err = p.expression(true); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (p *parser) callArgs() (a argsExpr, err error) {
	at := p.cur.pos
	bad := func() error { return p.errorAt(at, "call", "invalid order of arguments") }
	err = p.items(")", func() (err error) {
		switch {
		case p.is("*"):
			if a.star != nil || a.dstar != nil {
				return bad()
			}
			if err := p.advance(); err != nil {
				return err
			}
			a.star, err = p.expression(true)
			return err
		case p.is("**"):
			if a.dstar != nil {
				return bad()
			}
			if err := p.advance(); err != nil {
				return err
			}
			a.dstar, err = p.expression(true)
			return err
		}
		if t := p.cur; t.kind == tokName {
			next, err := p.look()
			if err != nil {
				return err
			}
			if next.kind == "=" {
				if a.dstar != nil {
					return bad()
				}
				if slices.ContainsFunc(a.kw, func(k kwExpr) bool { return k.name == t.text }) {
					return p.errorAt(t.pos, t.text, "keyword argument %q is repeated", t.text)
				}
				if err := p.advance(); err != nil {
					return err
				}
				if err := p.advance(); err != nil {
					return err
				}
				x, err := p.expression(true)
				a.kw = append(a.kw, kwExpr{t.text, x})
				return err
			}
		}
		if a.star != nil || a.dstar != nil || len(a.kw) > 0 {
			return bad()
		}
		x, err := p.expression(true)
		a.pos = append(a.pos, x)
		return err
	})
	return a, err
}

func (p *parser) call(fn expr) (expr, error) {
	at := p.cur.pos
	args, err := p.callArgs()
	return &callExpr{pos: at, fn: fn, args: args}, err
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
func (p *parser) filters(x expr, inline bool) (expr, error) {
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
		f := &filterExpr{pos: t.pos, x: x, name: t.text}
		if p.is("(") {
			if f.args, err = p.callArgs(); err != nil {
				return nil, err
			}
		}
		x = f
	}
	return x, nil
}

func (p *parser) test(x expr) (expr, error) {
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
	n := &testExpr{pos: t.pos, x: x, name: t.text}
	switch p.cur.kind {
	case "(":
		if n.args, err = p.callArgs(); err != nil {
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
		n.args.pos = []expr{arg}
	}
	if negated {
		return &unaryExpr{pos: at, op: "not", x: n}, nil
	}
	return n, nil
}
