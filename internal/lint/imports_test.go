package lint

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// loadsLibraries is the package that loads C libraries at run time: drivers of
// devices, which are installed with the devices and cannot be linked, and nodes
// of flow graphs, which users compile. None implements an opcode.
var loadsLibraries = map[string]bool{"internal/machine/library": true}

// TestNoPlugins: adapters are Go functions in a table that the linker sees;
// nothing is loaded or generated at run time.
func TestNoPlugins(t *testing.T) {
	m := module(t)
	t.Run("imports", func(t *testing.T) {
		banned := map[string]bool{"plugin": true, "C": true, "github.com/ebitengine/purego": true}
		for dir, p := range m.pkgs {
			p.imports(func(imp string, at token.Pos) {
				if banned[imp] && !loadsLibraries[dir] {
					t.Errorf("%s: imports %s", m.fset.Position(at), imp)
				}
			})
		}
	})
	t.Run("executable_memory", func(t *testing.T) {
		for _, p := range m.pkgs {
			for _, f := range p.files {
				ast.Inspect(f, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && (id.Name == "PROT_EXEC" || strings.HasPrefix(id.Name, "PAGE_EXECUTE") || id.Name == "VirtualProtect") {
						t.Errorf("%s: %s makes memory executable", m.fset.Position(id.Pos()), id.Name)
					}
					return true
				})
			}
		}
	})
}

// readsEnvironment reports whether a package may read flags and environment:
// the command line, generators, and packages that only tests import, which find
// reference cases and test kernels.
func readsEnvironment(dir string) bool {
	return dir == "internal/cli" || dir == "internal/kernel/kerneltest" || dir == "internal/golden" || dir == "internal/golden/await" || dir == "flow/internal/flowtest" || path.Dir(dir) == "cmd" || path.Dir(dir) == "tools"
}

// takesFlags reports whether another package may read flags: commands in
// packages of their own, and the programs among the examples.
func takesFlags(dir string) bool {
	return path.Dir(dir) == "internal/cli" || strings.HasPrefix(dir, "examples/")
}

// TestNoHiddenSwitches: the library takes its settings from its caller alone,
// and no flag chooses between two ways to run a plan.
func TestNoHiddenSwitches(t *testing.T) {
	m := module(t)
	t.Run("environment", func(t *testing.T) {
		banned := map[string]bool{"Getenv": true, "LookupEnv": true, "Environ": true, "ExpandEnv": true}
		for dir, p := range m.pkgs {
			if readsEnvironment(dir) {
				continue
			}
			for _, f := range p.files {
				ast.Inspect(f, func(n ast.Node) bool {
					s, ok := n.(*ast.SelectorExpr)
					if !ok || !banned[s.Sel.Name] {
						return true
					}
					if id, ok := s.X.(*ast.Ident); ok && (id.Name == "os" || id.Name == "syscall") {
						t.Errorf("%s: reads the environment", m.fset.Position(s.Pos()))
					}
					return true
				})
			}
			if takesFlags(dir) {
				continue
			}
			p.imports(func(imp string, at token.Pos) {
				if imp == "flag" || strings.HasPrefix(imp, "github.com/spf13/") {
					t.Errorf("%s: imports %s", m.fset.Position(at), imp)
				}
			})
		}
	})
	t.Run("flags", func(t *testing.T) {
		banned := []string{"executor", "engine", "legacy", "old-path", "use-plan", "no-plan", "shadow", "fallback"}
		for dir, p := range m.pkgs {
			if !readsEnvironment(dir) && !takesFlags(dir) {
				continue
			}
			eachString(p, func(s string, at token.Pos) {
				for _, b := range banned {
					if s == b || s == "--"+b {
						t.Errorf("%s: %q chooses between executors", m.fset.Position(at), s)
					}
				}
			})
		}
	})
}

// weightNames are names of tensors in model files. They belong to families and
// files; executors use slots.
var weightNames = []string{
	"q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "gate_proj", "up_proj", "down_proj", "gate_up_proj",
	"attn_q", "attn_k", "attn_v", "attn_qkv", "attn_output", "attn_norm", "ffn_gate", "ffn_up", "ffn_down", "ffn_norm",
	"token_embd", "output_norm", "embed_tokens", "input_layernorm", "post_attention_layernorm", "self_attn",
	"wq", "wk", "wv", "wo", "w1", "w2", "w3", "blk.", "model.layers",
}

// TestNoWeightNames: executor and kernels contain no name of a tensor of a
// model file.
func TestNoWeightNames(t *testing.T) {
	m := module(t)
	for dir, p := range m.pkgs {
		if dir != "internal/exec" && !strings.HasPrefix(dir, "internal/kernel") {
			continue
		}
		eachString(p, func(s string, at token.Pos) {
			for _, w := range weightNames {
				if s == w || len(w) > 2 && strings.Contains(s, w) {
					t.Errorf("%s: %q names the weight %s", m.fset.Position(at), s, w)
				}
			}
		})
	}
}

// eachString calls f with every string literal of a package.
func eachString(p *lintPackage, f func(s string, at token.Pos)) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					f(s, l.Pos())
				}
			}
			return true
		})
	}
}
