package lint

import (
	"strings"
	"testing"
)

// layers is the policy, from the bottom up: a package may import what lies in
// the lines above its own, and what stands left of it in its own line where
// "<" joins the two; packages of one line without "<" do not know each other.
// "/..." is a folder and all below; of two patterns the deeper one counts.
// Change it in a commit of its own, never to make a build pass.
const layers = `
values   tensor internal/invariant internal/arena internal/cpu internal/direct internal/durable/... internal/fpenv internal/library internal/spelling internal/corpus internal/embedded internal/sample internal/peer internal/golden internal/lint
machine  internal/pool tier/hw internal/quant internal/modelfile internal/token/... internal/chat/...
rooms    plan/... tier/... < internal/cuda internal/kv internal/kernel/... < internal/roof < internal/kernel/kerneltest internal/text
engines  internal/pack < internal/exec internal/dense < grad/... internal/dsp/... internal/compile/... internal/vault internal/kernelbench internal/codecbench internal/trainbench
models   internal/weights internal/sched internal/lora nested/... flow/...
uses     internal/convert internal/record internal/residence < internal/observe < internal/placement < internal/passes
train    internal/train/... < internal/stepbench
face     . < internal/cli/...
programs cmd/... examples/... tools/...
`

// faces are packages that may import of this module no more than what stands
// behind them, which proves that it suffices.
var faces = map[string]string{
	"cmd/...":          "internal/cli/...",
	"examples/...":     ". flow/... nested/... grad/... tensor",
	"internal/cli/...": ". flow/... internal/cli/... internal/durable internal/peer internal/spelling",
}

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
		if only, ok := faces[deepest(e.from, faces)]; ok && e.to != "" && !matchesAny(e.to, only) {
			t.Errorf("%s imports %s; of this module %s uses %s alone", e.file, e.to, e.from, only)
		}
	}
	for pattern := range unused {
		t.Errorf("layers names %s, which does not exist", pattern)
	}
}
