package lint

import (
	"strconv"
	"strings"
	"testing"
)

// floors is the law of imports: a package imports only from folders on floors below its
// own folder's. A folder is one level below the module, or below internal; "." is the root
// package. Within a folder imports are free, for Go forbids circles.
const floors = `
15 cmd examples tools
14 internal/cli
13 serve internal/bench
12 . quila train
11 internal/train
10 internal/sight internal/speech
 9 internal/engine flow
 8 internal/policy
 7 internal/sched
 6 internal/exec
 5 internal/memory nested internal/tape
 4 internal/model grad
 3 internal/kernel
 2 internal/machine internal/text place
 1 internal/plan internal/store
 0 tensor internal/sample internal/grammar internal/fault internal/spelling internal/toml internal/golden
`

// faces are packages that of this module may import only what stands behind them.
var faces = map[string]string{
	"cmd/...":              "internal/cli/...",
	"examples/...":         ". place train flow/... nested/... grad/... tensor",
	"internal/cli/toolbox": ". internal/fault internal/store/durable",
	"internal/cli/flow":    "flow/... internal/cli/command internal/spelling internal/store/durable",
	"serve/...":            ". place serve/... internal/fault internal/machine/ledger internal/spelling internal/store/durable",
	"internal/cli/quila":   "quila/... internal/cli/command internal/spelling internal/store/durable",
	"internal/cli/...":     ". serve place train internal/cli/... internal/bench/... internal/engine internal/fault internal/grammar internal/kernel internal/machine/... internal/memory/checkpoint internal/memory/checkpoint internal/memory/cuda internal/memory/place internal/model/embedded internal/spelling internal/store/... internal/text/token internal/toml",
}

// codebookUsers are the packages that may use a codebook: codes are looked up where
// text enters and where it leaves, and nowhere in between.
const codebookUsers = "quila quila/internal/call quila/internal/parked quila/internal/sxlm quila/internal/boundary quila/conform/..."

// TestFloors: imports go down.
func TestFloors(t *testing.T) {
	at, unused := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(floors)) {
		fields := strings.Fields(line)
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields[1:] {
			at[f], unused[f] = n, true
		}
	}
	for _, e := range importsOfOurs(t) {
		from, to := folder(e.from), folder(e.to)
		if delete(unused, from); e.to == "" {
			continue
		}
		a, ok := at[from]
		b, known := at[to]
		switch {
		case from == to:
		case !ok || !known:
			t.Errorf("%s imports %q: %s or %s has no floor", e.file, e.to, from, to)
		case b >= a:
			t.Errorf("%s imports %s: from floor %d to %d", e.file, e.to, a, b)
		}
	}
	for f := range unused {
		t.Errorf("floors names %s, which is not there", f)
	}
}

// folder returns the folder that a package is in, by its path in the module.
func folder(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}

// TestFaces: some packages use of this module only what is listed.
func TestFaces(t *testing.T) {
	for _, e := range importsOfOurs(t) {
		if e.to == "quila/internal/boundary" && !matchesAny(e.from, codebookUsers) {
			t.Errorf("%s imports %s: codes are used at the boundary alone", e.file, e.to)
		}
		if only, ok := faces[deepest(e.from, faces)]; ok && e.to != "" && !matchesAny(e.to, only) {
			t.Errorf("%s imports %s; of this module %s uses %s alone", e.file, e.to, e.from, only)
		}
	}
}
