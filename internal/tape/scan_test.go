package tape_test

import (
	"fmt"
	"maps"

	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/tensor"
)

// mamba2Of appends a mixer of four heads of three channels, in chunks of three rows.
func mamba2Of(k *sketch, x plan.RegisterRef, p plan.SSMParams, more slots) plan.RegisterRef {
	p.Inner, p.State, p.Heads, p.HeadDim, p.Conv, p.Chunk, p.NormEps = 12, 5, 4, 3, 3, 3, 1e-3
	p.NormGroups = p.Groups
	if p.DtMax == 0 {
		p.DtMax = 1e30
	}
	mixed := int(p.Inner + 2*p.Groups*p.State)
	w := slots{"in": {12 + mixed + 4, width}, "conv": {mixed, 3}, "a": {4}, "d": {4}, "dt_bias": {4}, "norm": {12}, "out": {width, 12}}
	maps.Copy(w, more)
	at := len(k.c.Plan.Instructions)
	a := k.op(plan.OpMamba2, &p, reg(x), []int{width}, w)
	k.from(name(at, "a"), map[string]tensor.Shape{"file.log" + name(at, "a"): {4}}, compile.Transform{Kind: compile.NegExp})
	return k.add(x, a, 1)
}

func mamba1Of(k *sketch, x plan.RegisterRef, p plan.SSMParams, more slots) plan.RegisterRef {
	p.Inner, p.State, p.DtRank, p.Conv, p.NormEps, p.DtMax = 6, 4, 3, 3, 1e-3, 1e30
	w := slots{"in": {12, width}, "conv": {6, 3}, "x": {11, 6}, "dt": {6, 3}, "a": {6, 4}, "d": {6}, "out": {width, 6}}
	maps.Copy(w, more)
	at := len(k.c.Plan.Instructions)
	a := k.op(plan.OpMamba1, &p, reg(x), []int{width}, w)
	k.from(name(at, "a"), map[string]tensor.Shape{"file.log" + name(at, "a"): {6, 4}}, compile.Transform{Kind: compile.NegExp})
	return k.add(x, a, 1)
}

func init() {
	opcodes["mamba2/one_group"] = func(k *sketch) {
		k.done(mamba2Of(k, k.embed(1), plan.SSMParams{Groups: 1}, slots{"conv_bias": {22}}))
	}
	opcodes["mamba2/groups_bias"] = func(k *sketch) {
		k.done(mamba2Of(k, k.embed(1), plan.SSMParams{Groups: 2}, slots{"conv_bias": {32}, "in_bias": {48}, "out_bias": {width}}))
	}
	opcodes["mamba2/limits"] = func(k *sketch) {
		k.done(mamba2Of(k, k.embed(1), plan.SSMParams{Groups: 2, DtMin: 0.5, DtMax: 0.9}, nil))
	}
	opcodes["mamba1/bias"] = func(k *sketch) {
		k.done(mamba1Of(k, k.embed(1), plan.SSMParams{}, slots{"conv_bias": {6}, "dt_bias": {6}, "in_bias": {12}, "out_bias": {width}}))
	}
	opcodes["mamba1/normed"] = func(k *sketch) { k.done(mamba1Of(k, k.embed(1), plan.SSMParams{PlainNorm: 1}, nil)) }
	opcodes["mamba2/not_normed"] = func(k *sketch) {
		x := k.embed(1)
		y := mamba2Of(k, x, plan.SSMParams{Groups: 1}, nil)
		s := plan.Specs.Get(plan.OpMamba2)
		i, _ := s.SlotIndex("norm")
		k.c.Plan.Instructions[1].Weights[i] = plan.NoWeight
		k.done(y)
	}
}

func name(instruction int, slot string) string { return fmt.Sprintf("%d.%s", instruction, slot) }
