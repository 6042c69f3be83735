package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// A site is one error that can be planted: text that replaces the bytes from lo to hi of a
// file.
type site struct {
	file   string // relative to the repository
	fn     string // the function it is in, with its receiver
	line   int
	what   string // the change, as text: "a < b → a <= b"
	nth    int    // among the sites of fn with the same change, from 1
	lo, hi int
	text   string
}

// key is how a table of survivors names a site, whatever line it moves to.
func (s *site) key() string { return fmt.Sprintf("%s\t%s\t%s\t%d", s.file, s.fn, s.what, s.nth) }

func (s *site) String() string { return fmt.Sprintf("%s:%d: %s: %s", s.file, s.line, s.fn, s.what) }

// swaps are operators and what is written for them.
var swaps = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.QUO},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND: {token.OR}, token.OR: {token.AND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// sitesOf returns all errors that can be planted in the functions of a file.
func sitesOf(name string, src []byte) ([]site, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	x := &finder{name: name, src: src, fset: fset}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			x.fn = nameOf(fn, x)
			ast.Inspect(fn.Body, x.visit)
		}
	}
	slices.SortStableFunc(x.sites, func(a, b site) int { return cmp.Compare(a.lo, b.lo) })
	count := map[string]int{}
	for i := range x.sites {
		s := &x.sites[i]
		count[s.fn+"\t"+s.what]++
		s.nth = count[s.fn+"\t"+s.what]
	}
	return x.sites, nil
}

func nameOf(fn *ast.FuncDecl, x *finder) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	return "(" + x.of(fn.Recv.List[0].Type) + ")." + fn.Name.Name
}

type finder struct {
	name  string
	fn    string
	src   []byte
	fset  *token.FileSet
	sites []site
}

func (x *finder) at(p token.Pos) int { return x.fset.Position(p).Offset }

// of returns the text of a node.
func (x *finder) of(n ast.Node) string { return string(x.src[x.at(n.Pos()):x.at(n.End())]) }

// add notes that text may stand for the bytes of from to to, within the node that says what
// is changed.
func (x *finder) add(whole ast.Node, from, to token.Pos, text string) {
	lo, hi, begin, end := x.at(from), x.at(to), x.at(whole.Pos()), x.at(whole.End())
	was := string(x.src[begin:end])
	is := string(x.src[begin:lo]) + text + string(x.src[hi:end])
	if end-begin > 160 { // a statement with a function in it
		was, is = string(x.src[lo:hi]), text
	}
	x.sites = append(x.sites, site{file: x.name, fn: x.fn, line: x.fset.Position(from).Line, what: line(was) + " → " + line(is), lo: lo, hi: hi, text: text})
}

// line is a text on one line, shortened.
func line(s string) string {
	out := []rune{}
	for _, r := range s {
		if r == '\n' || r == '\t' || r == ' ' {
			if len(out) > 0 && out[len(out)-1] == ' ' {
				continue
			}
			r = ' '
		}
		out = append(out, r)
	}
	if len(out) > 100 {
		out = append(out[:100], '…')
	}
	return string(out)
}

func (x *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		for _, op := range swaps[n.Op] {
			x.add(n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			x.add(n, n.OpPos, n.OpPos+1, "")
		}
	case *ast.IncDecStmt:
		for _, op := range swaps[n.Tok] {
			x.add(n, n.TokPos, n.End(), op.String())
		}
	case *ast.AssignStmt:
		x.assign(n)
	case *ast.ExprStmt:
		x.drop(n)
	case *ast.IfStmt:
		x.negate(n.Cond)
	case *ast.Ident:
		switch n.Name {
		case "true":
			x.add(n, n.Pos(), n.End(), "false")
		case "false":
			x.add(n, n.Pos(), n.End(), "true")
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			if v, err := strconv.ParseInt(n.Value, 0, 32); err == nil {
				x.add(n, n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
			}
		}
	case *ast.BranchStmt:
		switch {
		case n.Label != nil:
		case n.Tok == token.BREAK:
			x.add(n, n.Pos(), n.End(), "continue")
		case n.Tok == token.CONTINUE:
			x.add(n, n.Pos(), n.End(), "break")
		}
	case *ast.ReturnStmt:
		return true
	}
	return true
}

// negate turns a condition round, unless its operator is changed to the opposite anyway.
func (x *finder) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); ok {
		switch b.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return
		}
	}
	x.add(cond, cond.Pos(), cond.End(), "!("+x.of(cond)+")")
}

// assign leaves an assignment out, or turns its operator round.
func (x *finder) assign(n *ast.AssignStmt) {
	for _, op := range swaps[n.Tok] {
		x.add(n, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), op.String())
	}
	if n.Tok == token.DEFINE || len(n.Lhs) != 1 || len(n.Rhs) != 1 {
		return
	}
	if l, ok := n.Lhs[0].(*ast.Ident); ok && l.Name == "_" {
		return
	}
	x.add(n, n.Pos(), n.End(), "_ = "+x.of(n.Rhs[0]))
}

// drop leaves a call out; its arguments stay, so that what they use is used.
func (x *finder) drop(n *ast.ExprStmt) {
	call, ok := n.X.(*ast.CallExpr)
	if !ok {
		return
	}
	if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "panic" || id.Name == "print" || id.Name == "println") {
		return
	}
	text := ""
	for _, a := range call.Args {
		if id, ok := a.(*ast.Ident); ok && id.Name == "nil" {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += "_ = " + x.of(a)
	}
	x.add(n, n.Pos(), n.End(), text)
}
