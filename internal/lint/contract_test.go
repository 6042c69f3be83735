package lint

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"atenia/internal/golden"
)

// opcodeNumbers are the numbers that the contract gives to opcodes.
var opcodeNumbers = map[string]int64{
	"OpNorm": 0, "OpAttention": 1, "OpFFN": 2, "OpMoE": 3, "OpMamba2": 4, "OpShortConv": 5, "OpMLA": 6, "OpEmbedding": 7, "OpResidualAdd": 8,
	"OpPatchEmbed": 16, "OpSpatialMerge": 17, "OpDeepstackTap": 18, "OpVisionScatter": 19,
}

// TestOpcodeNumbers: the opcodes of the contract have its numbers, no two have the same, and
// 64 to 127 stay free for primitives.
func TestOpcodeNumbers(t *testing.T) {
	m := module(t)
	opcode := m.member(t, "internal/plan", "Opcode").Type()
	scope := m.pkg(t, "internal/plan").types.Scope()
	owner := map[int64]string{}
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || c.Type() != opcode {
			continue
		}
		n, _ := constant.Int64Val(c.Val())
		if want, ok := opcodeNumbers[name]; ok && n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
		if n >= 64 && n < 128 {
			t.Errorf("%s is %d, a number of primitives", name, n)
		}
		if was := owner[n]; was != "" {
			t.Errorf("%s and %s are both %d", was, name, n)
		}
		owner[n] = name
	}
	for name := range opcodeNumbers {
		if scope.Lookup(name) == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestParamLayout: a payload is fields of four bytes without padding, a multiple of eight and
// at most 256 together, in little-endian order, and its layout is that of the file. A change
// of the layout of a payload that is there needs another version.
func TestParamLayout(t *testing.T) {
	m := module(t)
	p := m.pkg(t, "internal/plan")
	sizes := types.SizesFor("gc", "amd64")
	var b strings.Builder
	fmt.Fprintf(&b, "version %s\n", m.member(t, "internal/plan", "ParamVersion1").(*types.Const).Val())
	payload := m.member(t, "internal/plan", "Params").Type().Underlying().(*types.Interface)
	for _, name := range p.types.Scope().Names() {
		o, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(o.Type()) || !types.Implements(types.NewPointer(o.Type()), payload) {
			continue
		}
		s, ok := o.Type().Underlying().(*types.Struct)
		if !ok {
			t.Errorf("the payload %s is no struct", name)
			continue
		}
		size := sizes.Sizeof(s)
		if size != 4*int64(s.NumFields()) || size%8 != 0 || size > 256 {
			t.Errorf("%s takes %d bytes for %d fields", name, size, s.NumFields())
		}
		fmt.Fprintf(&b, "\n%s %d\n", name, size)
		for i := range s.NumFields() {
			f := s.Field(i)
			if u, ok := f.Type().(*types.Basic); !ok || u.Kind() != types.Uint32 && u.Kind() != types.Float32 {
				t.Errorf("%s.%s is of %s", name, f.Name(), f.Type())
			}
			fmt.Fprintf(&b, "%3d %s %s\n", 4*i, f.Name(), f.Type())
		}
	}
	golden.Text(t, filepath.Join("internal", "lint", "testdata", "params.txt"), b.String(), *update)
	orders := map[string]bool{}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && strings.HasSuffix(x.Sel.Name, "Endian") {
				orders[types.ExprString(x)] = true
			}
			return true
		})
	}
	if len(orders) != 1 || !orders["binary.LittleEndian"] {
		t.Errorf("payloads are encoded in the orders %v", orders)
	}
}

// otherMeanings are names that opcodes, mathematics or the language use too.
var otherMeanings = map[string]bool{"mamba": true, "mamba2": true, "clip": true, "phi": true}

// TestNoFamilyBelowCompile reads every identifier and string of the packages that run plans
// and finds no model family in them.
func TestNoFamilyBelowCompile(t *testing.T) {
	m := module(t)
	names := familyNames(t, m)
	read := 0
	for dir, p := range m.pkgs {
		if !slices.ContainsFunc([]string{"internal/plan", "internal/exec", "internal/kernel"}, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }) {
			continue
		}
		for _, f := range p.files {
			read++
			for _, hit := range mentioned(f, names) {
				t.Errorf("%s: %s", dir, hit)
			}
		}
	}
	if read < 50 {
		t.Errorf("%d files were read", read)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", `package p; var gemmaScale = "is qwen2"`, 0)
	if err != nil || len(mentioned(f, names)) != 2 {
		t.Errorf("the search finds nothing: %v", err)
	}
}

// familyNames returns the names of families, of their models and of their architectures, of
// those that run and of those that are refused by name.
func familyNames(t *testing.T, m *lintModule) map[string]bool {
	names := map[string]bool{}
	add := func(x ast.Expr) {
		if s, ok := x.(*ast.BasicLit); ok && s.Kind == token.STRING {
			if n, err := strconv.Unquote(s.Value); err == nil && !otherMeanings[strings.ToLower(n)] {
				names[strings.ToLower(n)] = true
			}
		}
	}
	p := m.pkg(t, "internal/model/compile")
	family := m.member(t, "internal/model/compile", "Family").Type()
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if p.info.TypeOf(n) != family {
					return true
				}
				for _, e := range n.Elts {
					kv := e.(*ast.KeyValueExpr)
					switch types.ExprString(kv.Key) {
					case "ID", "Arch":
						add(kv.Value)
					case "ModelTypes":
						for _, x := range kv.Value.(*ast.CompositeLit).Elts {
							add(x)
						}
					}
				}
			case *ast.ValueSpec: // maps from what is refused to why
				for i, name := range n.Names {
					if i < len(n.Values) && (strings.HasSuffix(name.Name, "Types") || strings.HasSuffix(name.Name, "Archs")) {
						if lit, ok := n.Values[i].(*ast.CompositeLit); ok && types.ExprString(lit.Type) == "map[string]string" {
							for _, e := range lit.Elts {
								add(e.(*ast.KeyValueExpr).Key)
							}
						}
					}
				}
			}
			return true
		})
	}
	for _, want := range []string{"llama", "qwen2_moe", "gemma3", "jamba"} { // one of each kind of name
		if !names[want] {
			t.Errorf("%q was not found among %d names of families", want, len(names))
		}
	}
	return names
}

// mentioned returns the identifiers and strings that have one of the names as a word.
func mentioned(f *ast.File, names map[string]bool) (hits []string) {
	look := func(s string) {
		if slices.ContainsFunc(words(s), func(w string) bool { return names[w] }) {
			hits = append(hits, s)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			look(n.Name)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				look(n.Value)
			}
		}
		return true
	})
	return hits
}

// words splits at characters other than letters and digits, and at capitals: "gemmaScale" has
// "gemma" and "scale".
func words(s string) (out []string) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	lower := false
	for _, r := range s {
		if letter := unicode.IsLetter(r) || unicode.IsDigit(r); !letter || unicode.IsUpper(r) && lower {
			flush()
			if !letter {
				lower = false
				continue
			}
		}
		b.WriteRune(r)
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	flush()
	return out
}
