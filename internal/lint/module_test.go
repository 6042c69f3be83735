package lint

import (
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "atenia"

// A lintPackage is one package of the module with its types, without tests.
type lintPackage struct {
	dir   string // slash-separated, "." for the root
	files []*ast.File
	types *types.Package
	info  *types.Info
	users map[types.Object][]string // functions whose bodies mention it; see usersOf
}

// lintPlatform is the platform that the lints read on every machine: it has
// both the portable code and the assembly.
func lintPlatform() *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.BuildTags = "linux", "amd64", nil
	return &c
}

// A lintModule is every package of the module by folder.
type lintModule struct {
	fset *token.FileSet
	pkgs map[string]*lintPackage
}

var loadedModule = sync.OnceValues(loadModule)

// module returns the parsed module; the tests share one.
func module(t *testing.T) *lintModule {
	t.Helper()
	m, err := loadedModule()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func loadModule() (*lintModule, error) {
	m := &lintModule{fset: positions, pkgs: map[string]*lintPackage{}}
	platform := lintPlatform()
	err := walkGo(func(file string) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		if ok, err := platform.MatchFile(filepath.Dir(file), filepath.Base(file)); err != nil || !ok {
			return err
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		p := m.pkgs[dir]
		if p == nil {
			p = &lintPackage{dir: dir}
			m.pkgs[dir] = p
		}
		p.files = append(p.files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range m.pkgs {
		m.check(p)
	}
	return m, nil
}

// check resolves the identifiers of a package and of those it imports. Those
// from outside the module remain unresolved; the lints do not need them.
func (m *lintModule) check(p *lintPackage) {
	if p.types != nil {
		return
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	conf := types.Config{Importer: m, Error: func(error) {}}
	p.types, _ = conf.Check(path.Join(modulePath, p.dir), m.fset, p.files, p.info)
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// Import implements [types.Importer].
func (m *lintModule) Import(imp string) (*types.Package, error) {
	if dir, ok := moduleDir(imp); ok && m.pkgs[dir] != nil {
		m.check(m.pkgs[dir])
		return m.pkgs[dir].types, nil
	}
	name := path.Base(imp)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(imp))
	}
	p := types.NewPackage(imp, name)
	p.MarkComplete()
	return p, nil
}

// moduleDir returns the folder of an import path of this module.
func moduleDir(imp string) (string, bool) {
	if imp == modulePath {
		return ".", true
	}
	return strings.CutPrefix(imp, modulePath+"/")
}

// pkg returns one package that must exist.
func (m *lintModule) pkg(t *testing.T, dir string) *lintPackage {
	t.Helper()
	p := m.pkgs[dir]
	if p == nil {
		t.Fatalf("no package %s", dir)
	}
	return p
}

// imports calls f with every import of the package.
func (p *lintPackage) imports(f func(imp string, at token.Pos)) {
	for _, file := range p.files {
		for _, s := range file.Imports {
			imp, _ := strconv.Unquote(s.Path.Value)
			f(imp, s.Pos())
		}
	}
}

// functions calls f with every function that has a body, and its name as
// "Name" or "Type.Name".
func (p *lintPackage) functions(f func(name string, fn *ast.FuncDecl)) {
	for _, file := range p.files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f(functionName(fn), fn)
			}
		}
	}
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// usersOf returns the functions of a package, sorted, whose bodies mention an
// object that want accepts.
func (p *lintPackage) usersOf(want func(types.Object) bool) []string {
	if p.users == nil {
		p.users = map[types.Object][]string{}
		p.functions(func(name string, fn *ast.FuncDecl) {
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if o := p.info.Uses[id]; o != nil && !slices.Contains(p.users[o], name) {
						p.users[o] = append(p.users[o], name)
					}
				}
				return true
			})
		})
	}
	var out []string
	for o, users := range p.users {
		if want(o) {
			out = append(out, users...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isNamed reports whether a type is the named one of a package of the module,
// or a pointer to it.
func isNamed(typ types.Type, dir, name string) bool {
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	n, ok := typ.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path.Join(modulePath, dir)
}

// member reports whether an object is the field or method of that name of a
// type, given as "Type.name", in a package of the module.
func (m *lintModule) member(t *testing.T, dir, name string) types.Object {
	t.Helper()
	typ, field, method := strings.Cut(name, ".")
	o := m.pkg(t, dir).types.Scope().Lookup(typ)
	if o != nil && method {
		o, _, _ = types.LookupFieldOrMethod(o.Type(), true, o.Pkg(), field)
	}
	if o == nil {
		t.Fatalf("%s has no %s: the lint looks for something that is gone", dir, name)
	}
	return o
}

// is returns a test for one object.
func is(want types.Object) func(types.Object) bool {
	return func(o types.Object) bool { return o == want }
}
