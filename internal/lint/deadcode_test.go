package lint

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publicPackages are those that programs outside this module import. Exported
// names there are not live by themselves: a name lives if a program, an Example
// or a test outside its package uses it.
var publicPackages = []string{
	".", "tensor", "grad", "nested", "nested/rule",
	"flow", "flow/graph", "flow/node", "flow/amp", "flow/live", "flow/fit", "flow/media", "flow/view",
	"quila", "quila/config", "quila/conform", "serve",
}

// testSupport are packages that only tests import. They keep nothing alive.
var testSupport = []string{
	"internal/golden", "internal/golden/await", "internal/kernel/kerneltest", "internal/store/faultfs", "internal/lint", "flow/internal/flowtest", "flow/internal/flowtest", "internal/memory/memorytest",
}

// notCalledYet lists unreachable declarations by package, and why they stay.
// Names that only they mention stay with them.
var notCalledYet = map[string]struct{ why, names string }{
	"flow/amp/internal/abi":  {"what a thread on its system stack does is assembly, which a test cannot hold", "entryDirectPC"},
	"flow/fit":               {"the contract: the library of TOML calls it by its interface", "Files.UnmarshalTOML"},
	"internal/cli/otlp":      {"the contract: OpenTelemetry's library calls it by its interface", "exporter.ExportSpans"},
	"internal/cli/toolbox":   {"the contract: MCP's library calls it by its interface", "gate.Authorize"},
	"serve/internal/dialect": {"the contract: the library takes connections over by net/http's interface, and reads them by net's", "hijacker.Hijack textConn.Read"},
	"internal/model/file":    {"metadata of arrays of arrays is read; no writer makes it yet", "nestedOf"},
	"internal/plan":          {"the contract: programs are read back", "ParseProgram"},
	"internal/store/blob":    {"the contract: golden tests compare a file as it is", "Store.ReadRaw"},
	"internal/text/token":    {"rerankers and encoders take pairs", "Tokenizer.EncodePair"},
	"quila/internal/stores":  {"entries that a block of phase 1, or a training step, moves: the second part has both", "KFE.Replay Library.update kfeGradient KFE.Descend"},
}

// TestNoDeadCode finds functions, types, variables and constants that no
// program of this repository reaches, no Example and no external test of a
// public package.
func TestNoDeadCode(t *testing.T) {
	m := module(t)
	g := newMentions(m)
	for _, dir := range slices.Sorted(maps.Keys(m.pkgs)) {
		g.declare(m.pkgs[dir])
	}
	for _, dir := range publicPackages {
		g.outside(t, m.pkg(t, dir))
	}
	g.otherPlatforms(t)
	g.run()
	excused := map[string]bool{}
	for dir, row := range notCalledYet {
		for _, name := range strings.Fields(row.names) {
			switch d := g.named[dir+" "+name]; {
			case d == nil:
				t.Errorf("there is no %s %s: take it out of the table", dir, name)
			case d.live:
				t.Errorf("%s %s is used now: take it out of the table", dir, name)
			default:
				excused[dir+" "+name] = true
			}
		}
	}
	for key := range excused {
		g.reach(g.named[key])
	}
	g.run()
	var dead []string
	for _, d := range g.named {
		if !d.live && !slices.Contains(testSupport, d.in.dir) && !strings.HasPrefix(filepath.Base(d.file), "z") {
			dead = append(dead, m.fset.Position(d.at).String()+": "+d.name+" is reached by no program, Example or external test")
		}
	}
	slices.Sort(dead)
	for _, d := range dead {
		t.Error(d)
	}
}

// isMain reports whether the functions main and init of a package run: in all
// packages but those that only tests import.
func isMain(p *lintPackage, fn *ast.FuncDecl) bool {
	return fn.Recv == nil && (fn.Name.Name == "main" || fn.Name.Name == "init") && !slices.Contains(testSupport, p.dir)
}
