package lint

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goroutines are the files that start goroutines whose panics nothing turns into errors,
// or that catch them elsewhere, and why.
var goroutines = map[string]string{
	"eval.go":                               "waits for a scheduler, which catches, and compares rows on the caller's goroutine",
	"flow/amp/process_linux.go":             "waits for a process to end",
	"flow/amp/serve_linux.go":               "in a process of its own, whose end is the node's fault",
	"flow/live/loop.go":                     "outside of Go's scheduler, where nothing can be recovered: the rules of the package forbid to panic",
	"internal/bench/machine/kernels.go":     "measures kernels on bytes of its own",
	"internal/bench/passes.go":              "samples the process's memory",
	"internal/kernel/roof/roof.go":          "measures the machine",
	"internal/bench/machine/offload.go":     "measures kernels on bytes of its own",
	"internal/cli/benchneighbour.go":        "a loop that takes a core from others",
	"internal/cli/flow/bench.go":            "allocates, to disturb what is measured",
	"internal/cli/flow/cues.go":             "reads a MIDI device, with a parser that is fuzzed, beside a block that cannot be recovered either",
	"internal/cli/signals.go":               "waits for signals",
	"internal/machine/watch/watch_linux.go": "waits for signals",
	"internal/engine/engine.go":             "reads how much memory there is",
	"internal/engine/resume.go":             "lanes of package checkpoint catch",
	"internal/kernel/kerneltest/bench.go":   "support of benchmarks",
	"internal/memory/cuda/device.go":        "each job is called by package fault",
	"internal/machine/pool/pool.go":         "each share's panic is its caller's",
	"internal/memory/ring/expertcache.go":   "each read is called by package fault",
	"internal/memory/lane/executor.go":      "each task's panic is its group's error",
	"internal/machine/ledger/guard.go":      "reads how much memory there is",
	"internal/memory/memorytest/adapter.go": "support of tests",
	"internal/policy/observe/observer.go":   "package http catches in handlers",
	"internal/sched/sched.go":               "serve catches",
	"internal/store/durable/lock.go":        "asks the system for a lock",
	"internal/train/offload/lane.go":        "each read and write is called by package fault",
}

// TestGoroutines: a panic in a goroutine that nothing recovers ends the process, and with
// it all models of a server. So every goroutine is started by a fault.Group, or calls
// package fault itself, or is in a file that says why not.
func TestGoroutines(t *testing.T) {
	unused := map[string]bool{}
	for file := range goroutines {
		unused[file] = true
	}
	found := 0
	err := walkGo(func(file string) error {
		slashed := filepath.ToSlash(file)
		if strings.HasSuffix(file, "_test.go") || matchesAny(slashed, "tools/... examples/...") {
			return nil
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if catches(n) {
					found++
					return true
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); !ok || x.Name != "sync" || n.Sel.Name != "WaitGroup" || slashed == "internal/fault/fault.go" {
					return true
				}
			default:
				return true
			}
			found++
			delete(unused, slashed)
			if goroutines[slashed] == "" {
				t.Errorf("%s: a panic of this goroutine ends the process: use fault.Group or fault.Call, or give a reason in goroutines", positions.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Fatalf("%d goroutines: the lint looks for something that is gone", found)
	}
	for file := range unused {
		t.Errorf("%s starts no goroutine that needs a reason", file)
	}
}

// catches reports whether a goroutine calls package fault, or the guard of commands.
func catches(n *ast.GoStmt) (ok bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, is := n.(*ast.CallExpr); is {
			if s, is := c.Fun.(*ast.SelectorExpr); is {
				x, is := s.X.(*ast.Ident)
				ok = ok || is && slices.Contains([]string{"fault.Call", "fault.Catch", "command.Guard"}, x.Name+"."+s.Sel.Name)
			}
		}
		return !ok
	})
	return ok
}
