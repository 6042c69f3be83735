package chat

// children calls f with the parts of a node in the order in which Jinja looks
// for names in them. Parts are statements, expressions, targets and macroDefs.
func children(n any, f func(any)) {
	switch n := n.(type) {
	case expr:
		exprChildren(n, f)
	case stmt:
		stmtChildren(n, f)
	case *macroDef:
		each(n.params, f)
		each(n.defaults, f)
		each(n.body, f)
	case *target:
		each(n.items, f)
	}
}

func each[T any](list []T, f func(any)) {
	for _, n := range list {
		f(n)
	}
}

func some(f func(any), list ...expr) {
	for _, x := range list {
		if x != nil {
			f(x)
		}
	}
}

func (a *argsExpr) walk(f func(any)) {
	each(a.pos, f)
	for _, k := range a.kw {
		f(k.x)
	}
	some(f, a.star, a.dstar)
}

func exprChildren(n expr, f func(any)) {
	switch n := n.(type) {
	case *seqExpr:
		each(n.items, f)
	case *dictExpr:
		for i := range n.keys {
			f(n.keys[i])
			f(n.vals[i])
		}
	case *unaryExpr:
		f(n.x)
	case *binaryExpr:
		f(n.x)
		f(n.y)
	case *logicExpr:
		f(n.x)
		f(n.y)
	case *compareExpr:
		f(n.x)
		each(n.ys, f)
	case *concatExpr:
		each(n.items, f)
	case *condExpr:
		some(f, n.test, n.x, n.y)
	case *attrExpr:
		f(n.x)
	case *itemExpr:
		f(n.x)
		f(n.key)
	case *sliceExpr:
		some(f, n.x, n.start, n.stop, n.step)
	case *callExpr:
		f(n.fn)
		n.args.walk(f)
	case *filterExpr:
		some(f, n.x)
		n.args.walk(f)
	case *testExpr:
		f(n.x)
		n.args.walk(f)
	}
}

func stmtChildren(n stmt, f func(any)) {
	switch n := n.(type) {
	case *outputStmt:
		some(f, n.x)
	case *ifStmt:
		for i, t := range n.tests {
			f(t)
			each(n.bodies[i], f)
		}
		if len(n.bodies) > len(n.tests) {
			each(n.bodies[len(n.tests)], f)
		}
	case *forStmt:
		f(n.target)
		f(n.iter)
		each(n.body, f)
		each(n.els, f)
		some(f, n.test)
	case *assignStmt:
		f(n.target)
		f(n.x)
	case *assignBlockStmt:
		f(n.target)
		if n.filter != nil {
			f(n.filter)
		}
		each(n.body, f)
	case *filterBlockStmt:
		each(n.body, f)
		f(n.filter)
	case *withStmt:
		each(n.targets, f)
		each(n.values, f)
		each(n.body, f)
	case *macroStmt:
		f(n.def)
	case *callStmt:
		f(n.call)
		f(n.def)
	case *generationStmt:
		f(n.def)
	case *blockStmt:
		each(n.body, f)
	case *scopeStmt:
		each(n.body, f)
	}
}

// tooDeep returns the first node that is nested deeper than max.
func tooDeep(n any, max int) any {
	if max == 0 {
		return n
	}
	var found any
	children(n, func(c any) {
		if found == nil {
			found = tooDeep(c, max-1)
		}
	})
	return found
}

// undeclared returns which of the names are read in body before body sets
// them, not looking into blocks.
func undeclared(body []stmt, names ...string) map[string]bool {
	watch := map[string]bool{}
	for _, n := range names {
		watch[n] = true
	}
	found := map[string]bool{}
	var visit func(any)
	visit = func(n any) {
		switch n := n.(type) {
		case *nameExpr:
			if watch[n.name] {
				found[n.name] = true
			}
			return
		case *target:
			n.names(func(t *target) { delete(watch, t.name) })
			return
		case *blockStmt:
			return
		}
		children(n, visit)
	}
	each(body, visit)
	return found
}

func nodePos(n any) pos {
	if p, ok := n.(interface{ position() pos }); ok {
		return p.position()
	}
	return pos{1, 1}
}

func (p pos) position() pos { return p }
