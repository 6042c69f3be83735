package lint

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// isInternal reports whether users cannot import a package.
func isInternal(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "internal") }

// TestFace: what a public package exports names only types that users can read
// and write down. An alias of an internal type shows no fields in go doc, and a
// field of one can be read but not declared.
func TestFace(t *testing.T) {
	m := module(t)
	for dir, p := range m.pkgs {
		if !slices.Contains(public, dir) {
			continue
		}
		f := face(func(at token.Pos, name, verb, internal string) {
			t.Errorf("%s: %s %s %s %s", m.fset.Position(at), dir, name, verb, internal)
		})
		for _, name := range p.types.Scope().Names() {
			if o := p.types.Scope().Lookup(name); o.Exported() {
				f.object(o)
			}
		}
	}
}

// A face reports the internal types that a package shows.
type face func(at token.Pos, name, verb, internal string)

// object checks an exported name of the package's scope.
func (f face) object(o types.Object) {
	tn, isType := o.(*types.TypeName)
	if !isType {
		f.typ(o, o.Name(), o.Type())
		return
	}
	if alias, ok := tn.Type().(*types.Alias); ok {
		if in := internalName(types.Unalias(alias)); in != "" {
			f(o.Pos(), o.Name(), "is an alias of", in)
		}
		return
	}
	named, ok := tn.Type().(*types.Named)
	if !ok {
		return
	}
	f.typ(o, o.Name(), named.Underlying())
	for i := range named.NumMethods() {
		if fn := named.Method(i); fn.Exported() {
			f.typ(fn, o.Name()+"."+fn.Name(), fn.Type())
		}
	}
}

// typ reports internal types that a type shows: in exported fields, elements,
// parameters, results and methods of interfaces.
func (f face) typ(at types.Object, name string, typ types.Type) {
	switch x := types.Unalias(typ).(type) {
	case *types.Named:
		if in := internalName(x); in != "" {
			f(at.Pos(), name, "shows", in)
		}
		for a := range x.TypeArgs().Types() {
			f.typ(at, name, a)
		}
	case *types.Struct:
		for v := range x.Fields() {
			if v.Exported() {
				f.typ(v, name+"."+v.Name(), v.Type())
			}
		}
	case *types.Signature:
		for v := range x.Params().Variables() {
			f.typ(at, name, v.Type())
		}
		for v := range x.Results().Variables() {
			f.typ(at, name, v.Type())
		}
	case *types.Interface:
		for fn := range x.Methods() {
			if fn.Exported() {
				f.typ(fn, name+"."+fn.Name(), fn.Type())
			}
		}
	case *types.Map:
		f.typ(at, name, x.Key())
		f.typ(at, name, x.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		f.typ(at, name, x.Elem())
	}
}

// internalName returns the name of a type that users cannot write down, "" for
// others.
func internalName(typ types.Type) string {
	n, ok := typ.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	if dir, ours := moduleDir(n.Obj().Pkg().Path()); ours && isInternal(dir) {
		return dir + "." + n.Obj().Name()
	}
	return ""
}
