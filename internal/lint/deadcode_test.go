package lint

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publicPackages are those that programs outside this module import. That
// something in them is public makes it no more alive: a name lives when a
// program, an Example or a test from outside its package does something with
// it.
var publicPackages = []string{
	".", "tensor", "grad", "grad/optim", "nested", "nested/rule", "nested/recall",
	"flow", "flow/graph", "flow/node", "flow/node/nodetest", "flow/amp", "flow/amp/catalog",
	"flow/control", "flow/heat", "flow/arena", "flow/schedule", "flow/sdf", "flow/amp/manifest", "flow/amp/isolate", "flow/amp/scan",
	"flow/rt", "flow/mel", "flow/fit", "flow/audio", "flow/audio/files", "flow/draw", "flow/observe", "flow/segment",
}

// testSupport are packages that only tests import. They keep nothing alive.
var testSupport = []string{
	"internal/golden", "internal/kernel/kerneltest", "internal/durable/faultfs", "internal/lint", "flow/amp/internal/ctest", "flow/node/nodetest", "tier/tiertest",
}

// tiers is why much of tier is not reached.
const tiers = "the tiers' issue puts it on the path or deletes it"

// notCalledYet are declarations by package that nothing reaches, and why they
// stay. What they alone mention stays with them.
var notCalledYet = map[string]struct{ why, names string }{
	".":                     {"the face gets types of its own", "KernelRate"},
	"flow/amp/internal/abi": {"what a thread on its system stack does is assembly, which a test cannot hold", "entryDirectPC"},
	"internal/modelfile":    {"metadata of arrays of arrays is read; no writer makes it yet", "NestedOf"},
	"internal/token":        {"rerankers and encoders take pairs", "Tokenizer.EncodePair"},
	"plan":                  {"the contract: programs are read back, states have a matrix of actions", "ParseProgram StateDescriptor.ZeroOn"},
	"plan/pass":             {"the contract: plans are read back and hand-offs between backends checked", "Graph LoadJSON LoadText"},
	"tier":                  {tiers, "DefaultOffload Ledger.Snapshot Manager.Gradients Manager.Health Offload.Plan"},
	"tier/backward":         {tiers, "Execute ExecuteTraced Persist Warm"},
	"tier/blob":             {tiers, "Align Choose NewReader Store.Dir Store.ReadRaw"},
	"tier/budget":           {tiers, "Comparison.Off"},
	"tier/checkpoint":       {tiers, "Materialize WarmStart.ApplySummaries"},
	"tier/decision":         {tiers, "Func Journal.Last Record.Intact"},
	"tier/graph":            {tiers, "Graph.Plan Loop Pager.Tick"},
	"tier/hw":               {tiers, "Sampler.Peak"},
	"tier/lane":             {tiers, "Meter.Take New NewPipeline Report.Overlap"},
	"tier/learn":            {tiers, "Band.Pressure Loop.Choice Loop.LastDecisionReason Loop.LastReason Loop.LoadLearning Loop.Ticks Loop.Trainer NewLoop Policy.Trainer Trainer.Snapshot"},
	"tier/metrics":          {tiers, "Set.Corrupt Set.Moved Set.WrittenSSD"},
	"tier/replay":           {tiers, "Recorder.Choose Recorder.Offload Recorder.Place Recorder.Plan Recorder.Recommend Recorder.WarmStart Recorder.Watch"},
	"tier/ring":             {tiers, "ErrChanged"},
	"tier/stream":           {tiers, "GPUNotAvailable Lines NewRing NewText Product.Kernel Ring.Last Ring.Total Route Tee"},
	"tier/train":            {tiers, "State.Verify State.WrittenBytes"},
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

// isMain reports whether the functions main and init of a package are run by
// somebody: all but those that only tests import.
func isMain(p *lintPackage, fn *ast.FuncDecl) bool {
	return fn.Recv == nil && (fn.Name.Name == "main" || fn.Name.Name == "init") && !slices.Contains(testSupport, p.dir)
}
