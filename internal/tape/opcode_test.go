package tape_test

import (
	"fmt"
	"maps"
	"testing"

	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

func reg(r ...plan.RegisterRef) []plan.RegisterRef { return r }

// attentionOf appends an attention with a residual connection.
func attentionOf(k *sketch, x plan.RegisterRef, p plan.AttentionParams, more slots) plan.RegisterRef {
	p.Heads, p.KVHeads, p.HeadDim, p.Causal, p.Scale = 4, max(p.KVHeads, 1), 6, 1, 0.4
	p.RopeScale = 1.1
	q, kv := int(p.Heads*p.HeadDim), int(p.KVHeads*p.HeadDim)
	w := slots{"q": {q, width}, "k": {kv, width}, "v": {kv, width}, "o": {width, q}}
	for s, shape := range more {
		w[s] = shape
	}
	a := k.op(plan.OpAttention, &p, reg(x), []int{width}, w)
	return k.add(x, a, 1)
}

func ffnOf(k *sketch, x plan.RegisterRef, act, gated uint32, bias bool) plan.RegisterRef {
	const hidden = 10
	w := slots{"up": {hidden, width}, "down": {width, hidden}}
	if gated != 0 {
		w["gate"] = tensor.Shape{hidden, width}
	}
	if bias {
		w["up_bias"], w["down_bias"] = tensor.Shape{hidden}, tensor.Shape{width}
		if gated != 0 {
			w["gate_bias"] = tensor.Shape{hidden}
		}
	}
	f := k.op(plan.OpFFN, &plan.FFNParams{Dim: width, Hidden: hidden, Act: act, Gated: gated}, reg(x), []int{width}, w)
	return k.add(x, f, 1)
}

func moeOf(k *sketch, x plan.RegisterRef, p plan.MoEParams, bias bool, more ...slots) plan.RegisterRef {
	p.Dim, p.Hidden, p.Experts = width, 5, 4
	if p.Scale == 0 {
		p.Scale = 1
	}
	w := slots{"router": {4, width}, "gate": {4, 5, width}, "up": {4, 5, width}, "down": {4, width, 5}}
	if bias {
		w["router_bias"], w["gate_bias"], w["up_bias"], w["down_bias"] = tensor.Shape{4}, tensor.Shape{4, 5}, tensor.Shape{4, 5}, tensor.Shape{4, width}
	}
	if n := int(p.SharedHidden); n > 0 {
		w["shared_gate"], w["shared_up"], w["shared_down"] = tensor.Shape{n, width}, tensor.Shape{n, width}, tensor.Shape{width, n}
		if p.SharedGated != 0 {
			w["shared_router"] = tensor.Shape{1, width}
		}
	}
	for _, m := range more {
		maps.Copy(w, m)
	}
	k.spread = 2
	y := k.op(plan.OpMoE, &p, reg(x), []int{width}, w)
	k.spread = 1
	return k.add(x, y, 1)
}

// mlaOf appends latent attention of two heads with a residual connection.
func mlaOf(k *sketch, x plan.RegisterRef, p plan.MLAParams, more slots) plan.RegisterRef {
	p.Heads, p.KVRank, p.Nope, p.Rope, p.V = 2, 5, 4, 2, 3
	p.Scale, p.RopeScale, p.NormEps, p.Absorb = 0.6, 1.1, 1e-3, 1
	inner := width
	w := slots{"kv_a": {7, width}, "kv_a_norm": {5}, "k_b": {10, 4}, "v_b": {6, 5}, "o": {width, 6}}
	if p.QRank > 0 {
		inner = int(p.QRank)
		w["q_a"], w["q_a_norm"] = tensor.Shape{inner, width}, tensor.Shape{inner}
	}
	w["q_b"] = tensor.Shape{12, inner}
	for s, shape := range more {
		w[s] = shape
	}
	k.spread = 1.5
	a := k.op(plan.OpMLA, &p, reg(x), []int{width}, w)
	k.spread = 1
	return k.add(x, a, 1)
}

func shortConvOf(k *sketch, x plan.RegisterRef, bias bool) plan.RegisterRef {
	w := slots{"in": {15, width}, "conv": {5, 3}, "out": {width, 5}}
	if bias {
		w["in_bias"], w["conv_bias"], w["out_bias"] = tensor.Shape{15}, tensor.Shape{5}, tensor.Shape{width}
	}
	return k.add(x, k.op(plan.OpShortConv, &plan.ConvParams{Dim: 5, Kernel: 3}, reg(x), []int{width}, w), 1)
}

// deltaOf appends a gated delta rule of two key heads of width 4 and four heads of values
// of width 3.
func deltaOf(k *sketch, x plan.RegisterRef, layout uint32) plan.RegisterRef {
	p := plan.GatedDeltaParams{KHeads: 2, VHeads: 4, KDim: 4, VDim: 3, Conv: 3, Chunk: 32, NormEps: 1e-3, L2Eps: 1e-3, VLayout: layout}
	return k.add(x, k.op(plan.OpGatedDelta, &p, reg(x), []int{width}, slots{
		"qkv": {28, width}, "z": {12, width}, "b": {4, width}, "a": {4, width}, "conv": {28, 3},
		"decay": {4}, "dt_bias": {4}, "norm": {3}, "out": {width, 12},
	}), 1)
}

// rwkvOf appends two layers of RWKV-7, with two heads of width 4.
func rwkvOf(k *sketch, x plan.RegisterRef) plan.RegisterRef {
	p := plan.RWKVParams{Dim: width, Heads: 2, HeadDim: 4, Hidden: 9, DecayRank: 3, RateRank: 2, ValueRank: 3, GateRank: 2, NormEps: 1e-3}
	first := k.op(plan.OpRWKVValue, &p, reg(x), []int{width}, slots{"x_v": {width}, "v": {width, width}})
	normed := func(x plan.RegisterRef) plan.RegisterRef {
		return k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
	}
	for layer := range 2 {
		w := slots{}
		for _, s := range []string{"x_r", "x_w", "x_k", "x_a", "x_g", "d0", "a0", "k_k", "k_a", "r_k", "norm", "norm_bias"} {
			w[s] = tensor.Shape{width}
		}
		for _, s := range []string{"r", "k", "o"} {
			w[s] = tensor.Shape{width, width}
		}
		low := func(name string, rank int) {
			w[name+"1"], w[name+"2"] = tensor.Shape{rank, width}, tensor.Shape{width, rank}
		}
		low("d", 3)
		low("a", 2)
		low("g", 2)
		if layer > 0 {
			low("v", 3)
			w["x_v"], w["v"], w["v0"] = tensor.Shape{width}, tensor.Shape{width, width}, tensor.Shape{width}
		}
		x = k.add(x, k.op(plan.OpRWKVTimeMix, &p, reg(normed(x), first), []int{width}, w), 1)
		x = k.add(x, k.op(plan.OpRWKVChannelMix, &p, reg(normed(x)), []int{width}, slots{"x_k": {width}, "key": {9, width}, "value": {width, 9}}), 0.2)
	}
	return x
}

// opcodes are all variants that the adapters accept, each in a small plan.
var opcodes = map[string]func(k *sketch){
	"embedding/positions": func(k *sketch) {
		k.done(k.op(plan.OpEmbedding, &plan.EmbedParams{Dim: width, Vocab: vocab, Scale: 2.5, PosOffset: 2}, reg(tokensReg), []int{width},
			slots{"table": {vocab, width}, "pos": {40, width}, "type": {2, width}}))
	},
	"embedding/scaled": func(k *sketch) { k.done(k.embed(2.5)) },

	"norm/rms": func(k *sketch) {
		k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Offset: 1, Groups: 1}, reg(k.embed(1)), []int{width}, slots{"weight": {width}}))
	},
	"norm/rms/plain": func(k *sketch) {
		k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(k.embed(1)), []int{width}, nil))
	},
	"norm/layer": func(k *sketch) {
		k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Kind: plan.NormLayer, Eps: 1e-3, Groups: 1}, reg(k.embed(1)), []int{width}, slots{"weight": {width}, "bias": {width}}))
	},
	"norm/layer/no_bias": func(k *sketch) {
		k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Kind: plan.NormLayer, Eps: 1e-3, Groups: 1}, reg(k.embed(1)), []int{width}, slots{"weight": {width}}))
	},

	"attention/all_heads": func(k *sketch) { k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 4}, nil)) },
	"attention/grouped_bias": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2}, slots{"q_bias": {24}, "k_bias": {12}, "v_bias": {12}, "o_bias": {width}}))
	},
	"attention/rope": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{RopeStyle: plan.RopeHalf, RopeDim: 6}, slots{"inv_freq": {3}}))
	},
	"attention/rope/partial": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{RopeStyle: plan.RopeHalf, RopeDim: 4}, slots{"inv_freq": {2}}))
	},
	"attention/rope/interleaved": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{RopeStyle: plan.RopeInterleaved, RopeDim: 4}, slots{"inv_freq": {2}}))
	},
	"attention/rope/dynamic": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{RopeStyle: plan.RopeHalf, RopeDim: 6, RopeKind: plan.RopeDynamic, RopeLimit: 4, RopeBase: 100, RopeFactor: 2}, slots{"inv_freq": {3}}))
	},
	"attention/rope/long": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{RopeStyle: plan.RopeHalf, RopeDim: 6, RopeKind: plan.RopeLong, RopeLimit: 4}, slots{"inv_freq": {3}, "inv_freq_long": {3}}))
	},
	"attention/heads_normed": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QKNormKind: 1, QKNormEps: 1e-3, QKNormOff: 1, RopeStyle: plan.RopeHalf, RopeDim: 6}, slots{"inv_freq": {3}, "q_norm": {6}, "k_norm": {6}}))
	},
	"attention/normed_after_rope": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QKNormKind: plan.QKNormAfter, QKNormEps: 1e-3, RopeStyle: plan.RopeHalf, RopeDim: 6}, slots{"inv_freq": {3}, "q_norm": {6}, "k_norm": {6}}))
	},
	"attention/normed_whole": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QKNormKind: plan.QKNormWhole, QKNormEps: 1e-3, QKNormOff: 1, RopeStyle: plan.RopeHalf, RopeDim: 4}, slots{"inv_freq": {2}, "q_norm": {24}, "k_norm": {12}}))
	},
	"attention/heads_layer_normed": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QKNormKind: plan.QKNormLayer, QKNormEps: 1e-3, RopeStyle: plan.RopeInterleaved, RopeDim: 6}, slots{"inv_freq": {3}, "q_norm": {24}, "k_norm": {12}}))
	},
	"attention/clipped": func(k *sketch) {
		k.done(attentionOf(k, k.embed(2), plan.AttentionParams{KVHeads: 2, Clip: 0.7}, slots{"q_bias": {24}, "k_bias": {12}, "v_bias": {12}}))
	},
	"attention/clipped_normed_after_rope": func(k *sketch) {
		k.done(attentionOf(k, k.embed(2), plan.AttentionParams{KVHeads: 2, Clip: 0.7, QKNormKind: plan.QKNormAfter, QKNormEps: 1e-3, RopeStyle: plan.RopeHalf, RopeDim: 6, TempBeta: 0.3, TempOrigLen: 2}, slots{"inv_freq": {3}, "q_norm": {6}, "k_norm": {6}}))
	},
	"attention/slopes": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, Window: 3}, slots{"slopes": {4}}))
	},
	"attention/window_softcap": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, Window: 3, Softcap: 1.5}, nil))
	},
	"attention/temperature": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, TempBeta: 0.3, TempOrigLen: 2}, nil))
	},

	"attention/sinks": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, Window: 3}, slots{"sinks": {4}}))
	},
	"attention/sinks_softcap": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, Softcap: 1.5, RopeStyle: plan.RopeHalf, RopeDim: 6}, slots{"inv_freq": {3}, "sinks": {4}}))
	},

	"mla/one_projection": func(k *sketch) { k.done(mlaOf(k, k.embed(1), plan.MLAParams{}, nil)) },
	"mla/low_queries_bias": func(k *sketch) {
		k.done(mlaOf(k, k.embed(1), plan.MLAParams{QRank: 6, RopeStyle: plan.RopeInterleaved}, slots{"inv_freq": {1}, "q_a_bias": {6}, "kv_a_bias": {7}, "o_bias": {width}}))
	},
	"mla/fused": func(k *sketch) {
		k.done(mlaOf(k, k.embed(1), plan.MLAParams{QRank: 6, RopeStyle: plan.RopeHalf}, slots{"inv_freq": {1}}))
		k.from("1.k_b", map[string]tensor.Shape{"file.kv_b": {14, 5}}, keysOfFused...)
		k.from("1.v_b", map[string]tensor.Shape{"file.kv_b": {14, 5}}, compile.Transform{Kind: compile.SliceEach, N: 2, A: 4, B: 7})
	},

	"moe/sigmoid": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateSigmoid, Renorm: 1, RenormEps: 0.1, Scale: 1.7, SharedHidden: 7}, true))
	},
	"moe/sigmoid_plain": func(k *sketch) { k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateSigmoid}, false)) },
	"moe/select_bias": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateSigmoid, Renorm: 1, RenormEps: 1e-20}, false, slots{"select_bias": {4}}))
	},
	"moe/groups": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Groups: 2, TopGroups: 1, Masked: 1, Scale: 1.7}, false))
	},
	"moe/groups_by_two": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateSigmoid, Renorm: 1, Groups: 2, TopGroups: 1, GroupScore: 1}, false))
	},
	"moe/sparsemixer": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateSparse, Jitter: 0.7}, false))
	},
	"moe/clamped": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: plan.GateTop, Act: plan.ActSwiGLUOAI, Limit: 0.5, Alpha: 1.702}, true))
	},

	"attention/gated": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QGate: 1}, slots{"q": {48, width}, "q_bias": {48}}))
	},
	"attention/gated/heads_normed": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, QGate: 1, QKNormKind: 1, QKNormEps: 1e-3, RopeStyle: plan.RopeHalf, RopeDim: 4}, slots{"q": {48, width}, "inv_freq": {2}, "q_norm": {6}, "k_norm": {6}}))
	},

	"shortconv":      func(k *sketch) { k.done(shortConvOf(k, k.embed(1), false)) },
	"shortconv/bias": func(k *sketch) { k.done(shortConvOf(k, k.embed(1), true)) },

	"gated_delta":       func(k *sketch) { k.done(deltaOf(k, k.embed(1), 0)) },
	"gated_delta/tiled": func(k *sketch) { k.done(deltaOf(k, k.embed(1), 1)) },
	"gated_delta/packed": func(k *sketch) {
		k.done(deltaOf(k, k.embed(1), 0))
		packed := map[string]tensor.Shape{"file.qkvz": {40, width}}
		k.from("1.qkv", packed, compile.Transform{Kind: compile.PickRows, Ranges: [][2]int{{0, 4}, {20, 24}, {4, 8}, {24, 28}, {8, 14}, {28, 34}}})
		k.from("1.z", packed, compile.Transform{Kind: compile.PickRows, Ranges: [][2]int{{14, 20}, {34, 40}}})
		k.from("1.b", map[string]tensor.Shape{"file.ba": {8, width}}, compile.Transform{Kind: compile.SliceEach, A: 0, B: 2, N: 2})
		k.from("1.a", map[string]tensor.Shape{"file.ba": {8, width}}, compile.Transform{Kind: compile.SliceEach, A: 2, B: 4, N: 2})
		k.from("1.decay", map[string]tensor.Shape{"file.A_log": {4}}, compile.Transform{Kind: compile.NegExp})
	},

	"rwkv": func(k *sketch) { k.done(rwkvOf(k, k.embed(1))) },

	"moe/renormalised": func(k *sketch) { k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1}, false)) },
	"moe/plain_scaled": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 3, Scale: 1.7}, true))
	},
	"moe/top_softmax": func(k *sketch) { k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Gate: 1}, false)) },
	"moe/one_expert":  func(k *sketch) { k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 1}, false)) },
	"moe/shared":      func(k *sketch) { k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, SharedHidden: 7}, false)) },
	"moe/shared_gated": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1, RenormEps: 0.1, SharedHidden: 7, SharedGated: 1}, false))
	},

	"residual_add/scaled": func(k *sketch) {
		x := k.embed(1)
		n := k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
		k.done(k.add(x, n, 0.3))
	},
	"residual_add/same": func(k *sketch) {
		x := k.embed(1)
		k.done(k.add(x, x, 0.3))
	},
	"residual_add/normed": func(k *sketch) {
		x := k.embed(1)
		n := k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
		y := k.op(plan.OpResidualAdd, &plan.AddParams{Scale: 0.7, NormEps: 1e-3, NormOff: 1, Norm: plan.AddRMSNorm}, reg(x, n), []int{width, width}, slots{"norm": {width}})
		k.layer = 1
		k.done(k.add(y, ffnOf(k, y+1, plan.ActSiLU, 1, false), 1))
	},
	"residual_add/layer_normed": func(k *sketch) {
		x := k.embed(1)
		n := k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
		y := k.op(plan.OpResidualAdd, &plan.AddParams{Scale: 0.7, NormEps: 1e-3, Norm: plan.AddLayerNorm}, reg(x, n), []int{width, width}, slots{"norm": {width}, "norm_bias": {width}})
		k.layer = 1
		k.done(k.add(y, ffnOf(k, y+1, plan.ActSiLU, 1, false), 1))
	},
	"residual_add/layer_normed/no_bias": func(k *sketch) {
		x := k.embed(1)
		n := k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, slots{"weight": {width}})
		y := k.op(plan.OpResidualAdd, &plan.AddParams{Scale: 0.7, NormEps: 1e-3, Norm: plan.AddLayerNorm}, reg(x, n), []int{width, width}, slots{"norm": {width}})
		k.layer = 1
		k.done(k.add(y, ffnOf(k, y+1, plan.ActSiLU, 1, false), 1))
	},

	"lm_head/capped_scaled_bias": func(k *sketch) {
		k.head(k.gather(k.embed(1)), plan.HeadParams{Softcap: 1.5, Scale: 2}, slots{"weight": {vocab, width}, "bias": {vocab}})
	},
	"lm_head/tied": func(k *sketch) {
		k.head(k.gather(k.embed(1)), plan.HeadParams{Scale: 1, Tied: 1}, slots{"weight": {vocab, width}})
		k.c.Plan.Instructions[2].Weights[0] = k.c.Plan.Instructions[0].Weights[0]
	},
	"gather_rows/early": func(k *sketch) {
		x := k.embed(1)
		a := k.op(plan.OpNorm, &plan.NormParams{Dim: width, Eps: 1e-3, Groups: 1}, reg(x), []int{width}, nil)
		y := k.add(k.gather(x), k.gather(a), 1)
		k.head(ffnOf(k, y, plan.ActSiLU, 1, false), plan.HeadParams{Scale: 1}, slots{"weight": {vocab, width}})
	},

	"weight/part_of_a_tensor": func(k *sketch) {
		k.done(ffnOf(k, k.embed(1), plan.ActSiLU, 1, false))
		fused := map[string]tensor.Shape{"file.gate_up": {20, width}}
		k.from("1.gate", fused, compile.Transform{Kind: compile.SliceRows, A: 0, B: 10})
		k.from("1.up", fused, compile.Transform{Kind: compile.SliceRows, A: 10, B: 20})
	},
	"weight/joined": func(k *sketch) {
		k.done(ffnOf(k, k.embed(1), plan.ActSiLU, 1, true))
		k.from("1.gate", map[string]tensor.Shape{"file.a": {3, width}, "file.b": {7, width}})
		k.from("1.gate_bias", map[string]tensor.Shape{"file.c": {4}, "file.d": {8}}, compile.Transform{Kind: compile.SliceRows, A: 1, B: 11}, compile.Transform{Kind: compile.AddConst, Value: 0.5})
	},
	"weight/permuted": func(k *sketch) {
		k.done(attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, RopeStyle: plan.RopeInterleaved, RopeDim: 4}, slots{"inv_freq": {2}, "q_bias": {24}}))
		k.from("1.q", map[string]tensor.Shape{"file.q": {24, width}}, compile.Transform{Kind: compile.PermuteHeads, A: 4, B: 4})
		k.from("1.q_bias", map[string]tensor.Shape{"file.qb": {24}}, compile.Transform{Kind: compile.PermuteHeads, A: 4, B: 6})
		k.from("1.o", map[string]tensor.Shape{"file.o": {24, width}}, compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{width, 24}})
	},
	"weight/rows_of_groups": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1}, false))
		fused := map[string]tensor.Shape{"file.gate_up": {4, 10, width}}
		flat := compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{40, width}}
		wide := compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{4, 5, width}}
		k.from("1.gate", fused, flat, compile.Transform{Kind: compile.SliceEach, N: 4, A: 0, B: 5}, wide)
		k.from("1.up", fused, flat, compile.Transform{Kind: compile.SliceEach, N: 4, A: 5, B: 10}, wide)
	},
	"weight/transposed": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1}, false))
		fused := map[string]tensor.Shape{"file.gate_up": {4, width, 10}}
		turn, flat := compile.Transform{Kind: compile.Transpose}, compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{40, width}}
		wide := compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{4, 5, width}}
		k.from("1.gate", fused, turn, flat, compile.Transform{Kind: compile.StepRows, A: 0, B: 2}, wide)
		k.from("1.up", fused, turn, flat, compile.Transform{Kind: compile.StepRows, A: 1, B: 2}, wide)
		k.from("1.down", map[string]tensor.Shape{"file.down": {4, 5, width}}, turn)
	},
	"weight/experts_apart": func(k *sketch) {
		k.done(moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1}, false))
		parts := map[string]tensor.Shape{}
		for e := range 4 {
			parts[fmt.Sprintf("file.experts.%d.gate", e)] = tensor.Shape{5, width}
		}
		k.from("1.gate", parts, compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{4, 5, width}})
		k.from("1.up", map[string]tensor.Shape{"file.up0": {7, width}, "file.up1": {13, width}}, compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{4, 5, width}})
	},
}

// keysOfFused makes the keys' part of a fused projection.
var keysOfFused = []compile.Transform{
	{Kind: compile.SliceEach, N: 2, A: 0, B: 4}, {Kind: compile.Reshape, Shape: tensor.Shape{2, 4, 5}}, {Kind: compile.Transpose}, {Kind: compile.Reshape, Shape: tensor.Shape{10, 4}},
}

func init() {
	for name, act := range map[string]uint32{"silu": plan.ActSiLU, "gelu_tanh": plan.ActGELUTanh, "gelu_erf": plan.ActGELUErf, "relu": plan.ActReLU, "relu2": plan.ActReLU2} {
		opcodes["ffn/gated/"+name] = func(k *sketch) { k.done(ffnOf(k, k.embed(1), act, 1, true)) }
		opcodes["ffn/plain/"+name] = func(k *sketch) { k.done(ffnOf(k, k.embed(1), act, 0, act == plan.ActReLU)) }
	}
}

func TestOpcodes(t *testing.T) {
	for name, build := range opcodes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newSketch(t)
			build(k)
			open[float64](t, &k.m, k.find, nil).check()
		})
	}
}

// TestBalance checks the gradient of the auxiliary loss, over two layers.
func TestBalance(t *testing.T) {
	k := newSketch(t)
	x := moeOf(k, k.embed(2), plan.MoEParams{TopK: 2, Renorm: 1}, false)
	k.layer = 1
	k.done(moeOf(k, x, plan.MoEParams{TopK: 2, Renorm: 1}, false))
	r := open[float64](t, &k.m, k.find, nil)
	plain := r.loss()
	r.m.Balance = 0.7
	if l := r.loss(); l-plain < 0.7 {
		t.Errorf("the auxiliary loss adds %v; it is at least one times its coefficient where choices follow probabilities", l-plain)
	}
	r.check()
}

// TestLoRA checks low-rank pairs: on plain, on fused and on joined weights, with
// and without dropout, while everything else is frozen.
func TestLoRA(t *testing.T) {
	for _, drop := range []float64{0, 0.4} {
		t.Run(fmt.Sprint(drop), func(t *testing.T) {
			k := newSketch(t)
			x := attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2}, nil)
			k.layer = 1
			x = ffnOf(k, x, plan.ActSiLU, 1, false)
			k.layer = 2
			k.done(moeOf(k, x, plan.MoEParams{TopK: 2}, true))
			fused := map[string]tensor.Shape{"file.qkv": {48, width}}
			k.from("1.q", fused, compile.Transform{Kind: compile.SliceRows, A: 0, B: 24})
			k.from("1.k", fused, compile.Transform{Kind: compile.SliceRows, A: 24, B: 36})
			k.from("1.v", fused, compile.Transform{Kind: compile.SliceRows, A: 36, B: 48})
			parts := map[string]tensor.Shape{}
			for e := range 4 {
				parts[fmt.Sprintf("file.experts.%d", e)] = tensor.Shape{width, 5}
			}
			k.from("5.down", parts, compile.Transform{Kind: compile.Reshape, Shape: tensor.Shape{4, width, 5}})
			r := open(t, &k.m, k.find, func(p *tape.Params[float64]) {
				p.Train(func(*tape.Param[float64]) bool { return false })
				for _, name := range []string{"file.qkv", "file.1.o", "file.3.up", "file.experts.1", "file.experts.2"} {
					w, ok := p.Get(name)
					if !ok {
						t.Fatal("no", name)
					}
					a, b := k.pair(name, w.Shape, 3)
					if err := p.Attach(name, tape.LoRA[float64]{A: a, B: b, Scale: 0.7, Dropout: drop}); err != nil {
						t.Fatal(err)
					}
				}
			})
			r.check()
		})
	}
}

// TestLoRAOfReordered checks pairs of tensors whose rows are cut from groups, and
// of tensors with a row for each input.
func TestLoRAOfReordered(t *testing.T) {
	k := newSketch(t)
	k.done(ffnOf(k, attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2}, nil), plan.ActSiLU, 0, false))
	ungroup := compile.Transform{Kind: compile.Ungroup, A: 2, Shape: tensor.Shape{24, 12, 12}}
	turn := compile.Transform{Kind: compile.Transpose}
	fused := map[string]tensor.Shape{"file.qkv": {48, width}}
	k.from("1.q", fused, ungroup, compile.Transform{Kind: compile.SliceRows, A: 0, B: 24})
	k.from("1.k", fused, ungroup, compile.Transform{Kind: compile.SliceRows, A: 24, B: 36})
	k.from("1.v", fused, ungroup, compile.Transform{Kind: compile.SliceRows, A: 36, B: 48})
	k.from("3.up", map[string]tensor.Shape{"file.up": {width, 10}}, turn)
	k.from("3.down", map[string]tensor.Shape{"file.down": {10, width}}, turn)
	shapes := map[string]tensor.Shape{"file.qkv": {48, width}, "file.up": {10, width}, "file.down": {width, 10}}
	for _, frozen := range []bool{true, false} {
		r := open(t, &k.m, k.find, func(p *tape.Params[float64]) {
			p.Train(func(*tape.Param[float64]) bool { return !frozen })
			for name, shape := range shapes {
				a, b := k.pair(name, shape, 3)
				if err := p.Attach(name, tape.LoRA[float64]{A: a, B: b, Scale: 0.7}); err != nil {
					t.Fatal(err)
				}
			}
		})
		r.check()
	}
}

// TestLatentLoRA: a pair of the fused projection of keys and values has its rows of
// each head, as one of any other projection.
func TestLatentLoRA(t *testing.T) {
	k := newSketch(t)
	k.done(mlaOf(k, k.embed(1), plan.MLAParams{QRank: 6, RopeStyle: plan.RopeInterleaved}, slots{"inv_freq": {1}}))
	k.from("1.k_b", map[string]tensor.Shape{"file.kv_b": {14, 5}}, keysOfFused...)
	k.from("1.v_b", map[string]tensor.Shape{"file.kv_b": {14, 5}}, compile.Transform{Kind: compile.SliceEach, N: 2, A: 4, B: 7})
	r := open(t, &k.m, k.find, func(p *tape.Params[float64]) {
		p.Train(func(*tape.Param[float64]) bool { return false })
		for _, name := range []string{"file.kv_b", "file.1.q_a", "file.1.q_b", "file.1.kv_a", "file.1.o"} {
			w, ok := p.Get(name)
			if !ok {
				t.Fatal("no", name)
			}
			a, b := k.pair(name, w.Shape, 3)
			if err := p.Attach(name, tape.LoRA[float64]{A: a, B: b, Scale: 0.7}); err != nil {
				t.Fatal(err)
			}
		}
	})
	r.check()
	loss := r.loss()
	for _, name := range []string{"file.kv_b.lora_A", "file.kv_b.lora_B"} {
		p, _ := r.params.Get(name)
		clear(p.Value)
		if r.loss() == loss {
			t.Errorf("%s has no effect", name)
		}
	}
}

// TestLoRAOfPickedRows checks a low-rank pair of a tensor whose rows are spread over weights.
func TestLoRAOfPickedRows(t *testing.T) {
	k := newSketch(t)
	opcodes["gated_delta/packed"](k)
	r := open(t, &k.m, k.find, func(p *tape.Params[float64]) {
		p.Train(func(*tape.Param[float64]) bool { return false })
		for _, name := range []string{"file.qkvz", "file.ba"} {
			w, ok := p.Get(name)
			if !ok {
				t.Fatal("no", name)
			}
			a, b := k.pair(name, w.Shape, 3)
			if err := p.Attach(name, tape.LoRA[float64]{A: a, B: b, Scale: 0.7}); err != nil {
				t.Fatal(err)
			}
		}
	})
	r.check()
}

func (k *sketch) pair(name string, shape tensor.Shape, rank int) (a, b *tape.Param[float64]) {
	made := func(suffix string, rows, cols int) *tape.Param[float64] {
		p := &tape.Param[float64]{Name: name + suffix, Shape: tensor.Shape{rows, cols}, Value: make([]float64, rows*cols)}
		for i := range p.Value {
			p.Value[i] = 0.4 * k.rng.NormFloat64()
		}
		return p
	}
	return made(".lora_A", rank, shape[1]), made(".lora_B", shape[0], rank)
}
