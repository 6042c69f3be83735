package lint

import (
	"strings"
	"testing"
)

// layers is the policy, from the bottom up: a package may import what lies in
// the lines above its own, and what stands left of it in its own line where
// "<" joins the two; packages of one line without "<" do not know each other.
// "/..." is a folder and all below; of two patterns the deeper one counts.
const layers = `
words    internal/spelling
values   tensor internal/grammar internal/enum internal/fault internal/invariant internal/golden internal/await internal/lint internal/sample internal/score internal/picture internal/model/embedded internal/bench/peer internal/machine/cpu internal/machine/library internal/machine/watch internal/store/durable<internal/text/corpus internal/toml
files    internal/memory/ledger < internal/memory/arena < internal/memory/kv internal/store/sequence internal/store/direct < internal/store/blob internal/store/faultfs internal/plan < internal/plan/pass internal/memory/timeline < internal/memory/lane internal/model/quant internal/model/packed internal/text/token < internal/text/vocab internal/text/chat internal/text/answer internal/policy/learn internal/policy/record internal/train/offload internal/machine/pool internal/kernel
machine  internal/machine/hw < internal/memory < internal/memory/place < internal/memory/memorytest < internal/machine/cuda internal/memory/coded < internal/memory/ring < internal/memory/experts internal/bench/roof < internal/kernel/... internal/model/file < internal/text
tape     grad < nested/rule < nested internal/memory/pack < internal/exec internal/memory/rates internal/store/checkpoint internal/policy/route internal/policy/trace internal/model/compile
rooms    internal/tape internal/model/... internal/sched/states < internal/sched internal/policy/replay internal/store/checkpointdir internal/memory/residence flow/graph < flow/node < flow/mel < flow/internal/... < flow < flow/...
quila    quila/config < quila/internal/... < quila
engine   internal/sight < internal/speech < internal/train/... internal/policy/adapt < internal/policy/observe < internal/engine
product  .
serves   serve/internal/host < serve/internal/... < serve
measures internal/bench/...
commands internal/cli/command < internal/cli/otlp < internal/cli/toolbox < internal/cli/flow < internal/cli/quila < internal/cli
programs cmd/... examples/... tools/...
`

// faces are packages that of this module may import only what stands behind them.
var faces = map[string]string{
	"cmd/...":              "internal/cli/...",
	"examples/...":         ". flow/... nested/... grad/... tensor",
	"internal/cli/toolbox": ". internal/fault internal/store/durable",
	"internal/cli/flow":    "flow/... internal/cli/command internal/spelling internal/store/durable",
	"serve/...":            ". serve/... internal/fault internal/memory/ledger internal/spelling",
	"internal/cli/quila":   "quila/... internal/cli/command internal/spelling internal/store/durable",
	"internal/cli/...":     ". serve internal/cli/... internal/bench/... internal/engine internal/fault internal/kernel internal/machine/... internal/memory/place internal/model/embedded internal/spelling internal/store/... internal/text/vocab internal/toml",
}

// codebookUsers are the packages that may use a codebook: codes are looked up where
// text enters and where it leaves, and nowhere in between.
const codebookUsers = "quila quila/internal/call quila/internal/sct quila/internal/sxlm quila/internal/vqgan quila/internal/conform/..."

func TestDeps(t *testing.T) {
	type place struct{ layer, chain, at int }
	places, unused := map[string]place{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(layers), "\n") {
		for c, chain := range strings.Split(strings.ReplaceAll(strings.Join(strings.Fields(line)[1:], " "), " < ", "<"), " ") {
			for k, pattern := range strings.Split(chain, "<") {
				places[pattern], unused[pattern] = place{i, c, k}, true
			}
		}
	}
	for _, e := range importsOfOurs(t) {
		from, to := deepest(e.from, places), deepest(e.to, places)
		delete(unused, from)
		a, b := places[from], places[to]
		if from == "" || e.to != "" && to == "" {
			t.Errorf("%s imports %q: one of them is in no layer", e.file, e.to)
		} else if e.to != "" && from != to && b.layer >= a.layer && (b.layer > a.layer || b.chain != a.chain || b.at > a.at) {
			t.Errorf("%s imports %s, which is not below %s", e.file, e.to, from)
		}
		if e.to == "quila/internal/codebook" && !matchesAny(e.from, codebookUsers) {
			t.Errorf("%s imports %s: codes are used at the boundary alone", e.file, e.to)
		}
		if only, ok := faces[deepest(e.from, faces)]; ok && e.to != "" && !matchesAny(e.to, only) {
			t.Errorf("%s imports %s; of this module %s uses %s alone", e.file, e.to, e.from, only)
		}
	}
	for pattern := range unused {
		t.Errorf("layers names %s, which does not exist", pattern)
	}
}
