package chat

// children calls f with the parts of a node in the order in which Jinja
// resolves names in them. Parts are statements, expressions, targets and
// macroDefs.
func children(n any, f func(any)) {
	switch n := n.(type) {
	case Expr:
		exprChildren(n, f)
	case stmt:
		stmtChildren(n, f)
	case *macroDef:
		each(n.Params, f)
		each(n.Defaults, f)
		each(n.Body, f)
	case *Target:
		each(n.Items, f)
	}
}

func each[T any](list []T, f func(any)) {
	for _, n := range list {
		f(n)
	}
}

func some(f func(any), list ...Expr) {
	for _, x := range list {
		if x != nil {
			f(x)
		}
	}
}

func (a *argsExpr) walk(f func(any)) {
	each(a.Pos, f)
	for _, k := range a.Named {
		f(k.X)
	}
	some(f, a.Star, a.Dstar)
}

func exprChildren(n Expr, f func(any)) {
	switch n := n.(type) {
	case *seqExpr:
		each(n.Items, f)
	case *dictExpr:
		for i := range n.Keys {
			f(n.Keys[i])
			f(n.Vals[i])
		}
	case *unaryExpr:
		f(n.X)
	case *binaryExpr:
		f(n.X)
		f(n.Y)
	case *logicExpr:
		f(n.X)
		f(n.Y)
	case *compareExpr:
		f(n.X)
		each(n.Ys, f)
	case *concatExpr:
		each(n.Items, f)
	case *condExpr:
		some(f, n.Test, n.X, n.Y)
	case *attrExpr:
		f(n.X)
	case *itemExpr:
		f(n.X)
		f(n.Key)
	case *sliceExpr:
		some(f, n.X, n.Start, n.Stop, n.Step)
	case *callExpr:
		f(n.Fn)
		n.Args.walk(f)
	case *filterExpr:
		some(f, n.X)
		n.Args.walk(f)
	case *testExpr:
		f(n.X)
		n.Args.walk(f)
	}
}

func stmtChildren(n stmt, f func(any)) {
	switch n := n.(type) {
	case *outputStmt:
		some(f, n.X)
	case *ifStmt:
		for i, t := range n.Tests {
			f(t)
			each(n.Bodies[i], f)
		}
		if len(n.Bodies) > len(n.Tests) {
			each(n.Bodies[len(n.Tests)], f)
		}
	case *forStmt:
		f(n.Target)
		f(n.Iter)
		each(n.Body, f)
		each(n.Els, f)
		some(f, n.Test)
	case *assignStmt:
		f(n.Target)
		f(n.X)
	case *assignBlockStmt:
		f(n.Target)
		if n.Filter != nil {
			f(n.Filter)
		}
		each(n.Body, f)
	case *filterBlockStmt:
		each(n.Body, f)
		f(n.Filter)
	case *withStmt:
		each(n.Targets, f)
		each(n.Values, f)
		each(n.Body, f)
	case *macroStmt:
		f(n.Def)
	case *callStmt:
		f(n.Call)
		f(n.Def)
	case *generationStmt:
		f(n.Def)
	case *blockStmt:
		each(n.Body, f)
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
			if watch[n.Name] {
				found[n.Name] = true
			}
			return
		case *Target:
			n.names(func(t *Target) { delete(watch, t.Name) })
			return
		case *blockStmt:
			return
		}
		children(n, visit)
	}
	each(body, visit)
	return found
}

// posOf is the position of a node.
func posOf(n any) Pos {
	if p, ok := n.(interface{ position() Pos }); ok {
		return p.position()
	}
	return Pos{1, 1}
}

func (p Pos) position() Pos { return p }
