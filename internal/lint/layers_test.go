package lint

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// depsPolicy says which packages of this module each package may import.
// It is a statement of policy: change it in a commit of its own, never to
// make a build pass. "." is the root package; a final "/*" stands for any
// package directly below.
const depsPolicy = `
tensor:
plan:                tensor plan/internal/*
plan/internal/*:
plan/pass:           tensor plan
internal/invariant:
internal/spelling:
internal/cpu:
internal/durable:
internal/durable/faultfs: internal/durable
internal/embedded:
internal/golden:
internal/corpus:
internal/token:      internal/token/*
internal/token/*:    internal/token/segment
internal/token/vocab: internal/corpus internal/durable internal/token/segment
internal/chat:       internal/chat/*
internal/chat/*:     internal/chat/object internal/chat/method
internal/sample:
internal/pool:       internal/cpu internal/invariant
internal/quant:      tensor
internal/kernel:     tensor internal/cpu internal/quant internal/invariant internal/kernel/block internal/kernel/choice internal/kernel/exact
internal/kernel/*:   tensor internal/cpu internal/kernel internal/kernel/exact internal/roof
internal/kernel/block: tensor
internal/kernel/choice:
internal/kernel/exact:
internal/vault:      internal/modelfile tier tier/blob tier/budget tier/checkpoint
internal/stepbench:  internal/cpu internal/pool internal/roof internal/train internal/train/data internal/train/planned grad/optim
internal/trainbench: tensor internal/cpu internal/kernel internal/roof tier/train
internal/dense:      internal/pool internal/kernel internal/kernel/exact
internal/dsp:        internal/kernel internal/kernel/exact
internal/dsp/fft:
internal/roof:       internal/cpu internal/arena internal/kernel
internal/codecbench: tensor internal/cpu internal/quant tier/blob
internal/kernelbench: tensor internal/cpu internal/kernel internal/kernel/choice internal/quant internal/arena internal/roof internal/kernel/exact
internal/modelfile:  tensor internal/durable
internal/compile:    tensor plan plan/pass internal/modelfile internal/compile/*
internal/compile/*:
internal/compile/faults: tensor plan
internal/compile/keys: internal/compile/faults internal/compile/pyjson
internal/compile/recipe: tensor
internal/weights:    tensor plan internal/modelfile internal/compile internal/quant
internal/text:       internal/modelfile internal/token internal/chat internal/sample
internal/convert:    tensor internal/modelfile internal/compile internal/weights internal/quant internal/token internal/text internal/sample internal/durable
internal/arena:
internal/direct:
internal/kv:         tensor internal/arena internal/invariant
internal/pack:       tensor internal/kernel internal/arena internal/durable
internal/exec:       tensor plan plan/pass internal/kernel internal/kernel/exact internal/pack internal/arena internal/pool internal/invariant tier/ring
internal/residence: tensor internal/cpu internal/modelfile internal/compile internal/weights internal/exec tier tier/budget tier/ring
internal/passes:    internal/sched internal/cpu internal/arena internal/kernel internal/placement tier/ring
internal/observe:   internal/cpu internal/residence internal/sched tier tier/budget tier/decision tier/hw tier/lane tier/learn tier/metrics tier/ring tier/stream tier/trace
internal/sched:      internal/exec internal/kv internal/sample internal/invariant
tier:                tier/hw tier/blob internal/durable
tier/blob:           internal/durable internal/direct
tier/budget:         tier
tier/tiertest:       tier
tier/hw:             internal/cpu internal/durable internal/arena internal/direct
tier/backward:       tier tier/blob tier/stream
tier/graph:          tier tier/lane tier/stream
tier/lane:           tier/stream
tier/stream:         tier
tier/learn:          internal/durable
tier/decision:       internal/durable
tier/replay:         tier tier/backward tier/budget tier/checkpoint tier/decision tier/hw tier/learn tier/stream
tier/trace:          tier/decision tier/lane
tier/metrics:        tier tier/decision tier/lane
tier/train:          tensor internal/durable
tier/checkpoint:     tier tier/blob internal/durable
tier/ring:           internal/arena internal/direct
internal/library:
internal/fpenv:
flow/amp/internal/abi: internal/arena internal/library
flow/amp/internal/ctest: internal/golden
flow/amp/manifest:
flow/amp/internal/fatal:
flow/amp/catalog:    flow/amp flow/amp/isolate flow/amp/manifest flow/amp/scan flow/node
flow/amp/scan:       flow/amp flow/amp/internal/fatal flow/amp/manifest internal/durable
flow/amp/isolate:    flow/amp flow/amp/manifest flow/amp/internal/abi flow/amp/internal/fatal flow/graph flow/node internal/fpenv
flow/amp:            flow/graph flow/node flow/amp/internal/abi flow/amp/manifest internal/library
internal/cuda:       tier tier/hw internal/library
nested/rule:         grad internal/dense nested/rule/internal/*
nested/rule/internal/*: internal/dense
grad:                internal/dense internal/pool
nested/recall:       grad/optim internal/pool nested nested/rule
nested:              grad grad/* nested/* internal/dense internal/pool internal/durable
internal/placement:  tensor plan internal/cpu internal/exec internal/compile internal/modelfile internal/pack internal/weights internal/residence tier tier/budget tier/hw tier/replay
.:                   tensor plan plan/pass internal/cpu internal/embedded internal/modelfile internal/compile internal/weights internal/exec internal/pack internal/sched internal/text internal/token internal/chat internal/sample internal/quant internal/convert internal/kernel internal/kernel/choice internal/kernel/exact internal/arena internal/roof tier/learn internal/residence tier/budget tier/ring internal/trainbench internal/stepbench internal/vault internal/cuda tier/hw tier/replay internal/placement internal/durable internal/kernelbench internal/observe internal/passes tier/blob internal/codecbench tier/checkpoint tier/decision internal/corpus internal/token/vocab internal/lora internal/train internal/train/job internal/train/recipe internal/train/curve internal/train/memory internal/pool
flow:                flow/* flow/internal/* flow/node/shipped internal/dsp internal/fpenv internal/pool
flow/control:
flow/internal/strand: internal/fpenv
flow/internal/*:     flow/graph flow/node
flow/graph:          flow/internal/digraph flow/internal/jsontext flow/internal/lines
flow/internal/jsontext:
flow/internal/lines:
flow/internal/digraph:
flow/sdf:            flow/graph flow/internal/digraph
flow/schedule:       flow/graph flow/internal/digraph flow/internal/lines flow/sdf
flow/arena:          internal/invariant
flow/mel:            internal/dsp/fft
flow/rt:             flow flow/graph flow/internal/watch flow/node internal/fpenv flow/rt/internal/*
flow/rt/internal/*:  internal/library
flow/node:           flow/graph
flow/node/*:         flow/graph flow/node internal/dsp internal/dsp/*
flow/node/filter:    flow/graph flow/node flow/node/rowwise internal/dsp internal/dsp/fft
flow/node/dynamics:  flow/graph flow/node flow/node/rowwise
flow/node/spectrum:  flow/graph flow/node flow/mel internal/dsp internal/dsp/fft
flow/node/source:    flow/graph flow/node flow/node/rowwise
flow/node/wave:      flow/graph flow/node flow/node/resample internal/dsp
flow/node/shipped:   flow/node flow/node/*
grad/optim: internal/dense internal/pool
internal/record:     tensor plan internal/compile internal/compile/rotary internal/weights internal/dense internal/pool grad
internal/train: tensor grad/optim internal/durable internal/pool internal/train/data internal/train/snapshot tier/train
internal/train/snapshot: tensor internal/durable internal/modelfile
internal/train/data: internal/corpus internal/text internal/chat
internal/train/planned:tensor grad internal/compile internal/durable internal/modelfile internal/pool internal/record internal/train internal/train/data internal/lora
internal/train/recipe:grad/optim internal/lora internal/spelling
internal/train/job:  grad/optim internal/corpus internal/durable internal/lora internal/modelfile internal/pool internal/text internal/token internal/token/vocab internal/train internal/train/* nested nested/rule
internal/train/curve:
internal/lora:       tensor internal/dense internal/durable internal/modelfile internal/quant
internal/train/memory: tensor internal/durable internal/modelfile internal/pool internal/sample internal/text internal/train internal/train/data nested
internal/peer:
internal/cli:        . internal/durable internal/peer internal/spelling internal/cli/*
internal/cli/*:      . internal/cli/command
internal/cli/flow:   flow flow/* flow/audio/files flow/node/* flow/amp/* internal/cli/command internal/durable
cmd/*:               internal/cli
examples/recall:     nested/recall
examples/flow/*:     flow flow/*
examples/flow/cnode: flow flow/* flow/amp/* flow/node/shipped
flow/audio:          internal/durable
flow/audio/files:    flow/audio flow/graph flow/node flow/node/basic
flow/draw:           flow/graph
flow/heat:
flow/segment:        flow flow/graph flow/node grad
flow/fit:            flow flow/graph flow/node grad/optim
flow/observe:        flow tier/lane tier/trace
internal/gen/*:      tensor plan
internal/gen/story:  internal/story
internal/gen/quality: . internal/story
internal/story:
`

func TestDeps(t *testing.T) {
	const mod = "atenia"
	policy := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(depsPolicy)) {
		pkg, imports, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("bad policy line %q", line)
		}
		policy[pkg] = strings.Fields(imports)
	}
	used := map[string]bool{}

	// Parse the files here rather than asking "go list": the test cache
	// notices files that the test opens, not those a child process opens.
	err := walkGo(func(file string) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		key := pkg
		if _, ok := policy[key]; !ok {
			key = path.Dir(pkg) + "/*"
		}
		allowed, ok := policy[key]
		if !ok {
			t.Errorf("%s: no line in depsPolicy; add one that says what it may import", pkg)
			return nil
		}
		used[key] = true
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if imp == mod {
				imp = "."
			} else if rest, ok := strings.CutPrefix(imp, mod+"/"); ok {
				imp = rest
			} else {
				continue
			}
			if !slices.Contains(allowed, imp) && !slices.Contains(allowed, path.Dir(imp)+"/*") {
				t.Errorf("%s imports %s; depsPolicy allows %s only %v", file, imp, pkg, allowed)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range policy {
		if !used[key] {
			t.Errorf("depsPolicy names %s, which does not exist", key)
		}
	}
}
