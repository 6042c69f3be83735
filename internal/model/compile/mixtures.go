package compile

import (
	"maps"

	"atenia/internal/plan"
)

// mixtureFamilies are mixtures of experts beyond those of qwen and mixtral.
var mixtureFamilies = []*Family{&graniteMoE, &gptOSS, &phiMoE}

// mixtureTerms are the names that their weight maps use.
var mixtureTerms = vocabulary{
	conds: map[string]func(*Config) Presence{
		"mixture.optional": func(*Config) Presence { return ByTensor },
		"sinks":            func(c *Config) Presence { return presentIf(c.Sinks) },
	},
}

// mixtureTypes and mixtureArchs are those of them that are refused by name.
var (
	mixtureTypes = map[string]string{}
	mixtureArchs = map[string]string{}
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
				Original: 4096, BetaFast: 32, BetaSlow: 1, Exact: true, Scale: float32(ropeStrength(32, 1)),
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

// phiMixer and phiSparse have layer norms with biases.
var (
	phiMixer = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm", "bias": "attn_norm_bias"}, Tag: "attn_norm"},
		attention[1],
		attention[2],
	}
	phiSparse = plan.Program{
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_bias"}, Tag: "ffn_norm"},
		sparse[1],
		sparse[2],
	}
	phiHead = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm", "bias": "output_norm_bias"}, Tag: "output_norm"},
		{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output", "bias": "output_bias"}, Tag: "head"},
	}
)

// phiMoE is Phi 3.5 MoE: layer norms, and two experts chosen by sparsemixer.
var phiMoE = Family{
	ID: "phimoe", ModelTypes: []string{"phimoe"},
	Arch: "phimoe", ReadsArch: true, StatesWindow: true, RMSEpsilon: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 8, FFN: 6400, Vocab: 32064, Context: 131072, Original: 4096,
		NormEps: 1e-5, Theta: 1e6, Act: "silu", FFNBias: Absent,
		Mixture: Mixture{Gate: gateSparse, Jitter: 0.01},
	},
	HF: func(o *object, c *Config) {
		c.NormKind = layerNorm
		o.setWindows(c, o.Int("window", 0, maxLength, "sliding_window"), everyLayer)
		o.readMixture(c, Mixture{Experts: 16, TopK: 2, Width: c.FFN, Gate: gateSparse})
		c.Mixture.Width, c.Mixture.Renorm = c.FFN, false
		c.Mixture.Jitter = o.Float("expert_jitter", 0.01, "router_jitter_noise")
		if r, _ := o.ropeObject("full_attention"); r != nil && c.rope("full").Scaling == Long {
			short, long := r.Float("rope.full.scale", 1, "short_mscale"), r.Float("rope.full.scale", 1, "long_mscale")
			if short != long {
				o.Bad("long_mscale", "the value of short_mscale", long)
			}
			c.rope("full").Scale = short
		}
	},
	GGUF: func(h *header, c *Config) {
		c.NormKind = layerNorm
		c.NormEps = h.float("norm_eps", float64(c.NormEps), "attention.layer_norm_epsilon")
		window := h.int("window", 0, maxLength, "attention.sliding_window")
		for i := range c.Layers {
			c.Layers[i].Window = window
		}
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixAttention: phiMixer}, FFNs: map[string]plan.Program{ffnMoE: phiSparse}, Epilogue: phiHead,
	Weights: llamaWeights.with(experts("block_sparse_moe", "w1", "w3", "w2")...).with(
		bias("attn_norm_bias", "d", "", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
		bias("ffn_norm_bias", "d", "", hfLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
		bias("output_norm_bias", "d", "", "{p}norm", "output_norm"),
		bias("output_bias", "V", "mixture.optional", "{q}lm_head", "output"),
	),
}
