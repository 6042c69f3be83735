package tape_test

import (
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

// everything is a plan with all opcodes, in which every block matters.
func everything(k *sketch) {
	x := k.embed(2)
	x = k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
	x = attentionOf(k, x, plan.AttentionParams{KVHeads: 2, QKNormKind: 1, QKNormEps: 1e-3, RopeStyle: plan.RopeHalf, RopeDim: 6}, slots{"inv_freq": {3}, "q_norm": {6}, "k_norm": {6}})
	k.layer = 1
	x = ffnOf(k, x, plan.ActSiLU, 1, false)
	x = mamba2Of(k, x, plan.SSMParams{Groups: 2}, nil)
	x = mamba1Of(k, x, plan.SSMParams{PlainNorm: 1}, nil)
	x = mlaOf(k, x, plan.MLAParams{QRank: 6, RopeStyle: plan.RopeInterleaved}, slots{"inv_freq": {1}})
	k.layer = 2
	k.done(moeOf(k, x, plan.MoEParams{TopK: 2, Renorm: 1}, false))
	k.from("2.q", map[string]tensor.Shape{"file.q": {24, width}}, compile.Transform{Kind: compile.PermuteHeads, A: 4, B: 4})
}

// recurrent is one with the opcodes whose rows depend on those before them.
func recurrent(k *sketch) {
	x := k.embed(2)
	x = k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
	x = shortConvOf(k, x, false)
	x = deltaOf(k, x, 0)
	x = rwkvOf(k, x)
	k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})) // logits stay small
}

// inRecurrent are the kinds of blocks that it has and [everything] has not.
var inRecurrent = []grad.Key{"plan.shortconv", "plan.gated_delta", "plan.rwkv_value", "plan.rwkv_time_mix", "plan.rwkv_channel_mix"}

// inSensing are those of [seeingAndHearing].
var inSensing = []grad.Key{"plan.scatter", "plan.inject", "plan.cross_attention"}

// inClassifying are those of [classifying].
var inClassifying = []grad.Key{"plan.projection", "plan.pool", "plan.objective"}

// TestPlantedErrors breaks the gradient of every kind of block in turn, and
// expects the comparison with differences to detect it: signs are flipped, the
// gradient of a gate or weight is lost, and a saved value is replaced.
func TestPlantedErrors(t *testing.T) {
	errs := map[string]func(b *grad.OpaqueBack[float64], back grad.BackwardFunc[float64]){
		"sign": func(b *grad.OpaqueBack[float64], back grad.BackwardFunc[float64]) {
			back(b)
			for i, v := range b.DIn(0) {
				b.DIn(0)[i] = -v
			}
		},
		"lost": func(b *grad.OpaqueBack[float64], back grad.BackwardFunc[float64]) {
			back(b)
			clear(b.DIn(1))
		},
		"cache": func(b *grad.OpaqueBack[float64], back grad.BackwardFunc[float64]) {
			saved := b.Saved(0)
			for i := 0; i < len(saved); i += 5 {
				saved[i] += 0.1
			}
			back(b)
			for i := 0; i < len(saved); i += 5 {
				saved[i] -= 0.1
			}
		},
	}
	inputs := map[grad.Key]int{"plan.embedding": 1, "plan.gather": 1, "plan.weight": 1, "plan.meet": 1, "plan.balance": 1, "plan.scatter": 1, "plan.inject": 1, "plan.pool": 1, "plan.objective": 1} // blocks with one
	saves := map[grad.Key]bool{"plan.norm": true, "plan.attention": true, "plan.ffn": true, "plan.moe": true, "plan.mla": true, "plan.mamba1": true, "plan.mamba2": true, "plan.shortconv": true, "plan.gated_delta": true, "plan.rwkv_time_mix": true, "plan.rwkv_channel_mix": true, "plan.head": true, "plan.balance": true, "plan.cross_attention": true, "plan.projection": true}
	planted := 0
	plantAll := func(key grad.Key, back grad.BackwardFunc[float64]) {
		for name, plant := range errs {
			if name == "lost" && inputs[key] == 1 || name == "cache" && !saves[key] {
				continue
			}
			planted++
			t.Run(string(key)+"/"+name, func(t *testing.T) {
				t.Parallel()
				k := newSketch(t)
				switch {
				case slices.Contains(inRecurrent, key):
					recurrent(k)
				case slices.Contains(inSensing, key):
					seeingAndHearing(k)
				case slices.Contains(inClassifying, key):
					classifying(k)
				default:
					everything(k)
				}
				r := open[float64](t, &k.m, k.find, nil)
				r.m.Balance = 0.5
				r.m.Recompute = key == "plan.layer" || key == "plan.meet"
				hit := false
				r.m.Registry().Register(key, func(b *grad.OpaqueBack[float64]) {
					hit = true
					plant(b, back)
				})
				_, g := r.gradients()
				if !hit {
					t.Fatal("no such block was recorded")
				}
				if p := r.off(g, 100*tolerance); p.worst < 100*tolerance {
					t.Errorf("not found: gradients seem to be right to %.3g", p.worst)
				}
			})
		}
	}
	tape.Rules(plantAll)
	if planted < 20 {
		t.Errorf("only %d errors were planted", planted)
	}
}
