package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// calledFromOutside are methods that the standard library and the libraries we
// use call through their interfaces.
var calledFromOutside = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true, "As": true, "Format": true, "GoString": true,
	"MarshalText": true, "UnmarshalText": true, "MarshalJSON": true, "UnmarshalJSON": true,
	"Read": true, "ReadAt": true, "Write": true, "Close": true, "Seek": true, "WriteTo": true, "ReadFrom": true,
	"Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true, "Import": true, "Set": true, "Type": true,
	"Add": true, "At": true, // history of a terminal
	"Collect": true, "Describe": true, // metrics
	"RoundTrip": true, // requests of HTTP clients
}

// A declared is a function, a type, a variable, or a constant of a package.
// Constants of one declaration live together.
type declared struct {
	in    *lintPackage
	name  string // "Name" or "Type.Name"
	file  string
	at    token.Pos
	nodes []ast.Node
	live  bool
}

// mentions is which declarations name which others. A call through an
// interface reaches the method of that name of every type that is reached.
type mentions struct {
	m       *lintModule
	of      map[types.Object]*declared
	named   map[string]*declared            // by "folder Name" and "folder Type.Name"
	methods map[string]map[string]*declared // by "folder Type" and name
	called  map[string]bool                 // methods called through interfaces
	types   []string                        // "folder Type" of the types that are reached
	queue   []*declared
	roots   []root
}

// A root is source that runs or may be called without being mentioned.
type root struct {
	p    *lintPackage
	node ast.Node
}

func newMentions(m *lintModule) *mentions {
	return &mentions{
		m: m, of: map[types.Object]*declared{}, named: map[string]*declared{},
		methods: map[string]map[string]*declared{}, called: map[string]bool{},
	}
}

// declare adds the declarations of a package.
func (g *mentions) declare(p *lintPackage) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				g.function(p, d)
			case *ast.GenDecl:
				g.general(p, d)
			}
		}
	}
}

func (g *mentions) function(p *lintPackage, fn *ast.FuncDecl) {
	if isMain(p, fn) || fn.Name.Name == "_" {
		g.roots = append(g.roots, root{p, fn})
		return
	}
	if fn.Name.Name == "init" || fn.Recv != nil && fn.Body != nil && len(fn.Body.List) == 0 { // a mark of an interface
		return
	}
	d := g.add(p, fn.Name, functionName(fn), fn)
	if typ, method, ok := strings.Cut(d.name, "."); ok {
		key := p.dir + " " + typ
		if g.methods[key] == nil {
			g.methods[key] = map[string]*declared{}
		}
		g.methods[key][method] = d
	}
}

func (g *mentions) general(p *lintPackage, gd *ast.GenDecl) {
	var first *declared // of the constants of one declaration
	for _, s := range gd.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			g.add(p, s.Name, s.Name.Name, s)
		case *ast.ValueSpec:
			for _, id := range s.Names {
				switch {
				case id.Name == "_":
					if s.Type == nil {
						g.roots = append(g.roots, root{p, s}) // called from assembly
					}
				case gd.Tok == token.CONST && first != nil:
					g.of[p.info.Defs[id]] = first
					first.nodes = append(first.nodes, s)
				default:
					d := g.add(p, id, id.Name, s)
					if gd.Tok == token.CONST {
						first = d
					}
				}
			}
		}
	}
}

func (g *mentions) add(p *lintPackage, id *ast.Ident, name string, node ast.Node) *declared {
	d := &declared{in: p, name: name, file: g.m.fset.Position(id.Pos()).Filename, at: id.Pos(), nodes: []ast.Node{node}}
	g.named[p.dir+" "+name] = d
	if o := p.info.Defs[id]; o != nil {
		g.of[o] = d
	}
	return d
}

// outside makes roots of a package's external tests and of its Examples.
func (g *mentions) outside(t *testing.T, p *lintPackage) {
	t.Helper()
	platform := lintPlatform()
	entries, err := os.ReadDir(filepath.FromSlash(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if ok, err := platform.MatchFile(filepath.FromSlash(p.dir), e.Name()); err != nil || !ok {
			continue
		}
		f, err := parseFile(path.Join(p.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name.Name, "_test") {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Errorf("%s is public and has no Example and no test from outside", p.dir)
		return
	}
	tests := &lintPackage{dir: p.dir + "_test", files: files}
	g.m.check(tests)
	for _, f := range files {
		g.roots = append(g.roots, root{tests, f})
	}
}

// otherPlatforms makes roots of what files mention that the lints' platform
// does not build. They are read without their types, so every name counts.
func (g *mentions) otherPlatforms(t *testing.T) {
	t.Helper()
	platform := lintPlatform()
	err := walkGo(func(file string) error {
		p := g.m.pkgs[filepath.ToSlash(filepath.Dir(file))]
		if ok, err := platform.MatchFile(filepath.Dir(file), filepath.Base(file)); err != nil || ok || p == nil || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		imports := map[string]string{}
		for _, s := range f.Imports {
			imp, _ := strconv.Unquote(s.Path.Value)
			if dir, ok := moduleDir(imp); ok {
				imports[path.Base(imp)] = dir
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
					g.reach(g.named[imports[x.Name]+" "+n.Sel.Name])
				}
				g.call(n.Sel.Name)
			case *ast.Ident:
				g.reach(g.named[p.dir+" "+n.Name])
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (g *mentions) run() {
	for _, r := range g.roots {
		g.follow(r.p, r.node)
	}
	g.roots = nil
	for len(g.queue) > 0 {
		d := g.queue[len(g.queue)-1]
		g.queue = g.queue[:len(g.queue)-1]
		for _, n := range d.nodes {
			g.follow(d.in, n)
		}
	}
}

// reach marks a declaration as alive, and those methods of a type that are
// called through interfaces.
func (g *mentions) reach(d *declared) {
	if d == nil || d.live {
		return
	}
	d.live = true
	g.queue = append(g.queue, d)
	key := d.in.dir + " " + d.name
	g.types = append(g.types, key)
	for name, method := range g.methods[key] {
		if calledFromOutside[name] || g.called[name] {
			g.reach(method)
		}
	}
}

// call reaches the methods of a name of all types that are reached.
func (g *mentions) call(name string) {
	if g.called[name] {
		return
	}
	g.called[name] = true
	for _, key := range g.types {
		g.reach(g.methods[key][name])
	}
}

// follow reaches everything that the source mentions. A mention of an
// interface's method is one of all methods of that name.
func (g *mentions) follow(p *lintPackage, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			o := p.info.Uses[n]
			if fn, ok := o.(*types.Func); ok {
				o = fn.Origin()
				if sig := fn.Signature(); sig.Recv() != nil && g.of[o] == nil {
					g.call(fn.Name())
				}
			}
			if o != nil {
				g.reach(g.of[o])
			}
		case *ast.SelectorExpr: // of a type from outside, which may be an interface
			if x, ok := n.X.(*ast.Ident); ok {
				if _, ok := p.info.Uses[x].(*types.PkgName); ok {
					break
				}
			}
			if p.info.Selections[n] == nil {
				g.call(n.Sel.Name)
			}
		}
		return true
	})
}
