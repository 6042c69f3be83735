package lint

import (
	"cmp"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// public is what users can import. Every further package is a promise to keep:
// a name that moves or changes breaks programs.
var public = []string{
	".", "flow", "flow/amp", "flow/live", "flow/fit", "flow/graph", "flow/media", "flow/node",
	"flow/view", "grad", "nested", "nested/rule", "place", "quila", "quila/config", "quila/conform", "serve", "tensor", "train",
}

// TestDocLinks: [Name] and [Type.Method] in the comment of a package or of what it
// declares name something of the package.
func TestDocLinks(t *testing.T) {
	m := module(t)
	for _, p := range m.pkgs {
		d := docLint{t: t, m: m, p: p}
		for _, f := range p.files {
			d.links(f.Doc)
			for _, decl := range f.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					d.links(decl.Doc)
				case *ast.GenDecl:
					d.links(decl.Doc)
					for _, s := range decl.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							d.links(s.Doc)
						}
					}
				}
			}
		}
	}
}

// TestPublic: the packages that users can import are those of the list, and go
// doc suffices to use them: an essay, an Example with its output, a comment on
// each exported name, and structs that show fields or say how they are made.
func TestPublic(t *testing.T) {
	m := module(t)
	for dir, p := range m.pkgs {
		if isInternal(dir) || p.types.Name() == "main" || strings.HasPrefix(dir, "tools") {
			continue
		}
		if !slices.Contains(public, dir) {
			t.Errorf("%s can be imported by users: move it below internal", dir)
		}
	}
	for _, dir := range public {
		p := m.pkgs[dir]
		if p == nil {
			t.Errorf("there is no %s: take it out of the list", dir)
			continue
		}
		d := docLint{t: t, m: m, p: p}
		d.essay()
		d.example()
		for _, f := range p.files {
			for _, decl := range f.Decls {
				d.decl(decl)
			}
		}
	}
}

// A docLint checks the documentation of one package.
type docLint struct {
	t *testing.T
	m *lintModule
	p *lintPackage
}

func (d *docLint) errorf(at token.Pos, format string, args ...any) {
	d.t.Helper()
	d.t.Errorf("%s: "+format, append([]any{d.m.fset.Position(at)}, args...)...)
}

// essay checks that doc.go has a package comment of more than a paragraph.
func (d *docLint) essay() {
	for _, f := range d.p.files {
		if f.Doc == nil {
			continue
		}
		if filepath.Base(d.m.fset.Position(f.Package).Filename) != "doc.go" {
			d.errorf(f.Package, "the package's comment belongs in doc.go")
		}
		if text := f.Doc.Text(); strings.Count(strings.TrimSpace(text), "\n\n") < 1 {
			d.errorf(f.Package, "the package's comment should say more than one paragraph")
		}
		return
	}
	d.t.Errorf("%s has no package comment", d.p.dir)
}

var exampleOutput = regexp.MustCompile(`(?m)^func Example\w*\(\) \{\n(?:.*\n)*?\t// (?:Unordered )?[Oo]utput:`)

func (d *docLint) example() {
	files, err := filepath.Glob(filepath.Join(d.p.dir, "*_test.go"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			d.t.Fatal(err)
		}
		if exampleOutput.Match(text) {
			return
		}
	}
	d.t.Errorf("%s has no Example with // Output:", d.p.dir)
}

func (d *docLint) decl(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver(decl))) {
			d.named(decl.Name, decl.Doc)
		}
	case *ast.GenDecl:
		for _, s := range decl.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				doc := s.Doc
				if doc == nil {
					doc = decl.Doc
				}
				d.named(s.Name, doc)
				d.made(s, doc)
			case *ast.ValueSpec:
				d.value(decl, s)
			}
		}
	}
}

// value checks a constant or variable. In a group the group's comment, or one
// behind the name, is enough.
func (d *docLint) value(decl *ast.GenDecl, s *ast.ValueSpec) {
	for _, name := range s.Names {
		switch {
		case !name.IsExported():
		case decl.Lparen == token.NoPos:
			d.named(name, decl.Doc)
		case s.Doc != nil:
			d.named(name, s.Doc)
		case decl.Doc == nil && s.Comment == nil:
			d.errorf(name.Pos(), "%s has no comment", name.Name)
		default:
			d.links(decl.Doc)
		}
	}
}

// named checks that a name has a comment that begins with it.
func (d *docLint) named(name *ast.Ident, doc *ast.CommentGroup) {
	if doc == nil {
		d.errorf(name.Pos(), "%s has no comment", name.Name)
		return
	}
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if rest, ok := strings.CutPrefix(text, name.Name); !ok || rest != "" && !strings.ContainsRune(" ,.:;(\n'", rune(rest[0])) {
		d.errorf(name.Pos(), "the comment on %s does not begin with it", name.Name)
	}
	d.links(doc)
}

// made checks that a struct without exported fields says how it is made: by the
// name of a function that returns one, or that its zero value is ready.
func (d *docLint) made(s *ast.TypeSpec, doc *ast.CommentGroup) {
	obj := d.p.types.Scope().Lookup(s.Name.Name)
	st, ok := obj.Type().Underlying().(*types.Struct)
	if !ok || doc == nil {
		return
	}
	for f := range st.Fields() {
		if f.Exported() {
			return
		}
	}
	text := doc.Text()
	if strings.Contains(strings.ToLower(text), "zero ") {
		return
	}
	for _, maker := range d.makers(obj) {
		if regexp.MustCompile(`\b` + maker + `\b`).MatchString(text) {
			return
		}
	}
	d.errorf(s.Pos(), "the comment on %s names none of the functions that return one: %s", s.Name.Name, strings.Join(d.makers(obj), ", "))
}

// makers returns the names of exported functions and methods of the package that
// return a type, and of exported structs with a field that has to do with it.
func (d *docLint) makers(obj types.Object) (names []string) {
	returns := func(f *types.Func) {
		for v := range f.Signature().Results().Variables() {
			typ := v.Type()
			if ptr, ok := typ.(*types.Pointer); ok {
				typ = ptr.Elem()
			}
			if n, ok := typ.(*types.Named); ok && n.Origin().Obj() == obj && f.Exported() {
				names = append(names, f.Name())
			}
		}
	}
	scope := d.p.types.Scope()
	for _, name := range scope.Names() {
		switch o := scope.Lookup(name).(type) {
		case *types.Func:
			returns(o)
		case *types.TypeName:
			n, ok := o.Type().(*types.Named)
			if !ok || !o.Exported() {
				continue
			}
			for f := range n.Methods() {
				returns(f)
			}
			if st, ok := n.Underlying().(*types.Struct); ok && o != obj {
				for f := range st.Fields() {
					if f.Exported() && strings.Contains(f.Type().String(), obj.Pkg().Path()+"."+obj.Name()) {
						names = append(names, name)
					}
				}
			}
		}
	}
	return names
}

// shape is what a comment writes like a name and is a size, such as [N, D].
var shape = regexp.MustCompile(`^[A-Z][A-Z_]*[a-z]?$|^(Rows|Width)$`)

// links checks that [Name] and [Type.Method] in a comment name something of the
// package.
func (d *docLint) links(doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	var p comment.Parser
	p.LookupPackage = func(name string) (string, bool) { return name, true }
	p.LookupSym = func(recv, name string) bool { return shape.FindString(cmp.Or(recv, name)) == "" }
	for _, block := range p.Parse(doc.Text()).Content {
		paragraph, ok := block.(*comment.Paragraph)
		if !ok {
			continue
		}
		for _, text := range paragraph.Text {
			link, ok := text.(*comment.DocLink)
			if !ok || link.ImportPath != "" || link.Name == "" {
				continue
			}
			o := d.p.types.Scope().Lookup(cmp.Or(link.Recv, link.Name))
			if o == nil {
				d.errorf(doc.Pos(), "[%s] is nothing of this package", cmp.Or(link.Recv, link.Name))
			} else if link.Recv != "" {
				if m, _, _ := types.LookupFieldOrMethod(o.Type(), true, d.p.types, link.Name); m == nil {
					d.errorf(doc.Pos(), "[%s.%s] is nothing of this package", link.Recv, link.Name)
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
