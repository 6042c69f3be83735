package chat

import (
	"slices"
	"strings"
)

// tupleOpts are the options of a comma-separated list of expressions.
type tupleOpts struct {
	cond   bool // inline if
	parens bool // inside parentheses: () is a tuple
}

// tupleEnd reports what may follow the last comma of a tuple. Not "in" and
// "recursive": Jinja 3.1 means to allow them, but compares them in a way that
// never holds, so "for x, in y" is an error.
func (p *parser) tupleEnd() bool {
	return p.is(tokVarEnd) || p.is(tokTagEnd) || p.is(")")
}

// tuple parses an expression or several with commas.
func (p *parser) tuple(o tupleOpts) (Expr, error) {
	at := p.cur.pos
	var items []Expr
	isTuple := false
	for {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd() {
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
	return &seqExpr{Pos: at, Tuple: true, Items: items}, nil
}

// target parses what an assignment stores to: names, tuples of names and, with
// ns, attributes of namespaces.
func (p *parser) target(ns bool) (*Target, error) {
	at := p.cur.pos
	var items []*Target
	isTuple := false
	for {
		if len(items) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd() {
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
	return &Target{Pos: at, Items: items}, nil
}

func (p *parser) oneTarget(ns bool) (*Target, error) {
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
			return &Target{Pos: t.pos, Name: t.text}, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		attr, err := p.expect(tokName)
		return &Target{Pos: t.pos, Name: t.text, Attr: attr.text}, err
	case t.kind == "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.is(")") {
			return &Target{Pos: t.pos, Items: []*Target{}}, p.advance()
		}
		in, err := p.target(false)
		if err != nil {
			return nil, err
		}
		_, err = p.expect(")")
		return in, err
	}
	return nil, p.errorAt(t.pos, t.describe(), "cannot assign to %q", t.describe())
}

func (p *parser) expression(cond bool) (Expr, error) {
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
		c := &condExpr{Pos: at, X: x}
		if c.Test, err = p.or(); err != nil {
			break
		}
		var ok bool
		if ok, err = p.acceptName("else"); err != nil {
			break
		}
		if ok {
			c.Y, err = p.expression(true)
		}
		x = c
	}
	return x, err
}

func (p *parser) or() (Expr, error) {
	x, err := p.and()
	for err == nil && p.isName("or") {
		at := p.cur.pos
		if err = p.advance(); err == nil {
			var y Expr
			y, err = p.and()
			x = &logicExpr{Pos: at, X: x, Y: y}
		}
	}
	return x, err
}

func (p *parser) and() (Expr, error) {
	x, err := p.not()
	for err == nil && p.isName("and") {
		at := p.cur.pos
		if err = p.advance(); err == nil {
			var y Expr
			y, err = p.not()
			x = &logicExpr{Pos: at, And: true, X: x, Y: y}
		}
	}
	return x, err
}

func (p *parser) not() (Expr, error) {
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
	return &unaryExpr{Pos: at, Op: "not", X: x}, err
}

func (p *parser) comparison() (Expr, error) {
	at := p.cur.pos
	x, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{X: x}
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
		if len(c.Ops) == 0 {
			at = p.cur.pos
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		y, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.Ops, c.Ys = append(c.Ops, op), append(c.Ys, y)
	}
	if len(c.Ops) == 0 {
		return x, nil
	}
	c.Pos = at
	return c, nil
}

func (p *parser) sum() (Expr, error) {
	x, err := p.concat()
	for err == nil && (p.is("+") || p.is("-")) {
		t := p.cur
		if err = p.advance(); err == nil {
			var y Expr
			y, err = p.concat()
			x = &binaryExpr{Pos: t.pos, Op: string(t.kind), X: x, Y: y}
		}
	}
	return x, err
}

func (p *parser) concat() (Expr, error) {
	at := p.cur.pos
	x, err := p.product()
	if err != nil || !p.is("~") {
		return x, err
	}
	c := &concatExpr{Pos: at, Items: []Expr{x}}
	for p.is("~") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.product()
		if err != nil {
			return nil, err
		}
		c.Items = append(c.Items, x)
	}
	return c, nil
}

func (p *parser) product() (Expr, error) {
	x, err := p.power()
	for err == nil && (p.is("*") || p.is("/") || p.is("//") || p.is("%")) {
		t := p.cur
		if err = p.advance(); err == nil {
			var y Expr
			y, err = p.power()
			x = &binaryExpr{Pos: t.pos, Op: string(t.kind), X: x, Y: y}
		}
	}
	return x, err
}

// power is left associative, unlike Python's.
func (p *parser) power() (Expr, error) {
	x, err := p.unary(true)
	for err == nil && p.is("**") {
		t := p.cur
		if err = p.advance(); err == nil {
			var y Expr
			y, err = p.unary(true)
			x = &binaryExpr{Pos: t.pos, Op: "**", X: x, Y: y}
		}
	}
	return x, err
}

func (p *parser) unary(filters bool) (x Expr, err error) {
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
		x = &unaryExpr{Pos: t.pos, Op: string(t.kind), X: x}
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

func (p *parser) primary() (Expr, error) {
	t := p.cur
	switch t.kind {
	case tokName:
		var x Expr
		switch t.text {
		case "true", "True":
			x = &constExpr{Pos: t.pos, Value: true}
		case "false", "False":
			x = &constExpr{Pos: t.pos, Value: false}
		case "none", "None":
			x = &constExpr{Pos: t.pos, Value: nil}
		default:
			x = &nameExpr{Pos: t.pos, Name: t.text}
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
		return &constExpr{Pos: t.pos, Value: b.String()}, nil
	case tokNumber:
		return &constExpr{Pos: t.pos, Value: t.val}, p.advance()
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
		x := &seqExpr{Pos: t.pos}
		err := p.items("]", func() error {
			it, err := p.expression(true)
			x.Items = append(x.Items, it)
			return err
		})
		return x, err
	case "{":
		x := &dictExpr{Pos: t.pos}
		err := p.items("}", func() error {
			k, err := p.expression(true)
			if err != nil {
				return err
			}
			if _, err := p.expect(":"); err != nil {
				return err
			}
			v, err := p.expression(true)
			x.Keys, x.Vals = append(x.Keys, k), append(x.Vals, v)
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

func (p *parser) postfix(x Expr) (_ Expr, err error) {
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
				x = &attrExpr{Pos: a.pos, X: x, Name: a.text}
			case a.kind == tokNumber && typeName(a.val) == "int":
				x = &itemExpr{Pos: a.pos, X: x, Key: &constExpr{Pos: a.pos, Value: a.val}}
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

func (p *parser) subscript(x Expr) (Expr, error) {
	at := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	var keys []Expr
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
		if s, ok := k.(*sliceExpr); ok && s.X == x && (len(keys) > 0 || !p.is("]")) {
			return nil, p.errorAt(s.Pos, "slice", "a slice among other subscripts")
		}
		keys = append(keys, k)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if len(keys) == 1 {
		if s, ok := keys[0].(*sliceExpr); ok && s.X == x {
			return s, nil
		}
		return &itemExpr{Pos: at, X: x, Key: keys[0]}, nil
	}
	return &itemExpr{Pos: at, X: x, Key: &seqExpr{Pos: at, Tuple: true, Items: keys}}, nil
}

// subscribed parses one subscript of x: an expression or a slice.
func (p *parser) subscribed(x Expr) (k Expr, err error) {
	s := &sliceExpr{Pos: p.cur.pos, X: x}
	if !p.is(":") {
		if k, err = p.expression(true); err != nil || !p.is(":") {
			return k, err
		}
		s.Start = k
	}
	for _, part := range []*Expr{&s.Stop, &s.Step} {
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
