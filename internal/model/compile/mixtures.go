package compile

import (
	"maps"

	"atenia/internal/plan"
)

// mixtureFamilies are mixtures of experts beyond those of qwen and mixtral.
var mixtureFamilies = []*Family{&graniteMoE, &gptOSS}

// mixtureTerms are the names that their weight maps use.
var mixtureTerms = vocabulary{
	conds: map[string]func(*Config) Presence{
		"sinks": func(c *Config) Presence { return presentIf(c.Sinks) },
	},
}

// mixtureTypes and mixtureArchs are those of them that are refused by name.
var (
	mixtureTypes = map[string]string{
		"phimoe": needsMoE,
	}
	mixtureArchs = map[string]string{
		"phimoe": needsMoE,
	}
)

// graniteExperts is the weights of granite's mixtures, whose files fuse the gate
// and up projections of all experts, and those of the shared expert.
var graniteExperts = func() []WeightSpec {
	specs := experts("block_sparse_moe", "", "", "")
	set := func(id, name, of string, rows ...string) {
		s := WeightMap(specs).get(id)
		o := Origin{Name: hfLayer + name + ".weight", Of: of}
		if len(rows) > 0 {
			o.Rows, o.Each = [2]string{rows[0], rows[1]}, rows[2]
		}
		s.HF = []Origin{o}
	}
	set("ffn_router", "block_sparse_moe.router.layer", "")
	set("ffn_gate_exps", "block_sparse_moe.input_linear", "E,2*F,d", "0", "F", "E")
	set("ffn_up_exps", "block_sparse_moe.input_linear", "E,2*F,d", "F", "2*F", "E")
	set("ffn_down_exps", "block_sparse_moe.output_linear", "E,d,F")
	set("ffn_gate_shexp", "shared_mlp.input_linear", "2*S,d", "0", "S", "")
	set("ffn_up_shexp", "shared_mlp.input_linear", "2*S,d", "S", "2*S", "")
	set("ffn_down_shexp", "shared_mlp.output_linear", "")
	return specs
}()

// graniteMoE is granite with mixtures in all layers, and with a shared expert
// without a gate if the configuration has its width.
var graniteMoE = Family{
	ID: "granitemoe", ModelTypes: []string{"granitemoe", "granitemoeshared"},
	Arch: "granitemoe", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 32000, Context: 2048,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", FFNBias: Absent,
		Mixture: Mixture{Gate: gateTop, SharedPlain: true},
	},
	HF: func(o *object, c *Config) {
		graniteScales(o, c)
		o.readMixture(c, Mixture{Experts: 8, TopK: 2, Width: c.FFN, Gate: gateTop, SharedPlain: true})
		c.Mixture.Width = c.FFN
		c.Mixture.Shared = o.Int("shared_width", 0, maxWidth, "shared_intermediate_size")
	},
	GGUF:     graniteLogits,
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: llamaWeights.with(graniteExperts...),
}

// sinkAttention has a learned logit for each head in its softmax.
var sinkAttention = plan.Program{
	attention[0],
	{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: func() w {
		all := maps.Clone(attentionWeights)
		all["sinks"] = "attn_sinks"
		return all
	}(), Tag: "attn"},
	attention[2],
}

// ossExperts is the weights of gpt-oss's mixtures: rows of gate and up alternate.
// Files in MXFP4 have them row by row, others column by column.
var ossExperts = func() []WeightSpec {
	const hf = hfLayer + "mlp.experts."
	specs := WeightMap(experts("mlp", "", "", ""))
	for i, id := range []string{"ffn_gate_exps", "ffn_up_exps"} {
		specs.get(id).HF = []Origin{
			{Name: hf + "gate_up_proj.weight", Of: "E,2*F,d", Step: [2]int{i, 2}},
			{Name: hf + "gate_up_proj", Of: "E,d,2*F", Turn: true, Step: [2]int{i, 2}},
		}
	}
	specs.get("ffn_down_exps").HF = []Origin{{Name: hf + "down_proj.weight", Of: "E,d,F"}, {Name: hf + "down_proj", Of: "E,F,d", Turn: true}}
	specs.get("ffn_router").HF = named(hfLayer+"mlp.router", ".weight")
	specs.get("ffn_router_bias").HF = named(hfLayer+"mlp.router", ".bias")
	return append(specs,
		WeightSpec{ID: "attn_sinks", Shape: "H", If: "sinks", HF: named(hfLayer+"self_attn.sinks", ""), GGUF: named(ggufLayer+"attn_sinks", ".weight")},
		norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"post_attention_norm"))
}()

// gptOSS has windows in every other layer, sinks, biases everywhere and a clamped
// activation.
var gptOSS = Family{
	ID: "gpt_oss", ModelTypes: []string{"gpt_oss"},
	Arch: "gpt-oss", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 2880, Layers: 36, Heads: 64, KVHeads: 8, HeadDim: 64, FFN: 2880, Vocab: 201088, Context: 131072,
		NormEps: 1e-5, Theta: 150000, Act: "silu", FFNBias: Absent,
		Mixture: Mixture{Gate: gateTop, RouterBias: true, ExpertBias: true, Limit: 7, Alpha: 1.702},
	},
	HF: func(o *object, c *Config) {
		if r, _ := o.ropeObject("full_attention"); r == nil { // the class has a whole object as default
			c.addRope(RotaryTable{
				Name: "full", Dim: c.HeadDim, Theta: o.Float("rope.full.theta", 150000, "rope_theta"), Scaling: Yarn, Factor: 32,
				Original: 4096, BetaFast: 32, BetaSlow: 1, Exact: true, Scale: float32(RopeStrength(32, 1)),
			})
		}
		o.setWindows(c, o.Int("window", 128, maxLength, "sliding_window"), func(i int) bool { return i%2 == 0 })
		o.readMixture(c, Mixture{Experts: 128, TopK: 4, Width: c.FFN, Gate: gateTop, RouterBias: true, ExpertBias: true})
		c.Act, c.Sinks, c.Mixture.Width = actSwiGLUOAI, true, c.FFN
		c.Mixture.Limit = o.Float("expert_limit", 7, "swiglu_limit")
		c.Mixture.Alpha = o.Float("expert_slope", 1.702, "swiglu_alpha")
	},
	GGUF: func(h *header, c *Config) {
		c.Act, c.Sinks = actSwiGLUOAI, true
		c.rope("full").Exact = true // the format has no key for it
		h.setWindows(c, h.int("window", 0, maxLength, "attention.sliding_window"), 2)
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixAttention: sinkAttention}, FFNs: sparseFFNs, Epilogue: headText,
	Weights: llamaWeights.with(ossExperts...),
}
