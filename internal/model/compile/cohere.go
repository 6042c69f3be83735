package compile

import "strings"

// commandR has layer norms without biases, scaled logits, and heads whose
// neighbouring elements rotate together, in files of all formats.
var commandR = Family{
	ID: "cohere", ModelTypes: []string{"cohere"},
	Arch: "command-r", ReadsArch: true, Reorders: true, Neighbours: true, ScalesLogits: true,
	Defaults: Defaults{
		Hidden: 8192, Layers: 40, Heads: 64, FFN: 22528, Vocab: 256000, Context: 8192, NormEps: 1e-5, Theta: 5e5, Act: "silu", Tied: true,
		NormKind: layerNorm, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		c.normHeads(o.Bool("qk_norm", false, "use_qk_norm"))
		o.cohere(c)
	},
	GGUF: func(h *header, c *Config) {
		c.normHeads(h.tensors["blk.0.attn_q_norm.weight"] != nil)
		c.LogitMul = h.float("logit_mul", 1, "logit_scale")
		c.eachLayer(mixParallel, ffnNone)
	},
	Prologue: embedText, Mixers: parallelMixers, FFNs: noFFNs, Epilogue: layerHead,
	Weights: llamaWeights.without("ffn_norm").with(headsNormed(false, "self_attn.q_norm", "self_attn.k_norm")...),
}

// cohere2 has a window in three of four layers, and positions only there.
var cohere2 = Family{
	ID: "cohere2", ModelTypes: []string{"cohere2"},
	Arch: "cohere2", ReadsArch: true, Reorders: true, Neighbours: true, ScalesLogits: true, StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 8192, Layers: 40, Heads: 64, FFN: 22528, Vocab: 256000, Context: 8192, NormEps: 1e-5, Theta: 1e4, Act: "silu", Tied: true,
		NormKind: layerNorm, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.cohere(c)
		every := o.Int("window_pattern", 4, maxLayers, "sliding_window_pattern")
		o.setWindows(c, o.Int("window", 4096, maxLength, "sliding_window"), func(i int) bool { return every > 0 && (i+1)%every != 0 })
		c.ropeWithWindow()
	},
	GGUF: func(h *header, c *Config) {
		c.LogitMul = h.float("logit_mul", 1, "logit_scale")
		c.eachLayer(mixParallel, ffnNone)
		h.setWindows(c, h.int("window", 4096, maxLength, "attention.sliding_window"), 4)
		c.ropeWithWindow()
	},
	Prologue: embedText, Mixers: parallelMixers, FFNs: noFFNs, Epilogue: layerHead,
	Weights: llamaWeights.without("ffn_norm", "attn_q_norm", "attn_k_norm"),
}

// cohere reads what both have.
func (o *object) cohere(c *Config) {
	p := presentIf(o.Bool("qkv_bias", false, "attention_bias"))
	c.QKVBias, c.OutBias = p, p
	c.LogitMul = o.Float("logit_mul", 0.0625, "logit_scale")
	c.Interleaved = true
	c.eachLayer(mixParallel, ffnNone)
}

// glm4 normalizes branches before and after, and rotates neighbours in half of
// each head.
var glm4 = Family{
	ID: "glm4", ModelTypes: []string{"glm4"},
	Arch: "glm4", ReadsArch: true, Reorders: true, Neighbours: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 40, Heads: 32, KVHeads: 2, HeadDim: 128, FFN: 13696, Vocab: 151552, Context: 131072,
		NormEps: 1.5625e-7, Theta: 1e4, Act: "silu", OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		c.QKVBias = presentIf(o.Bool("qkv_bias", true, "attention_bias"))
		c.Interleaved = true
		o.partial(c, 0.5, "partial_rotary_factor")
	},
	Prologue: embedText, Mixers: sandwichMixers, FFNs: sandwichFFNs, Epilogue: headText,
	Weights: llamaWeights.with(
		norm("post_attn_norm", "d", hfLayer+"post_self_attn_layernorm", ggufLayer+"post_attention_norm"),
		norm("post_ffn_norm", "d", hfLayer+"post_mlp_layernorm", ggufLayer+"post_ffw_norm"),
		slice("ffn_gate", "I,d", "2*I,d", "0", "I", hfLayer+"mlp.gate_up_proj", ggufLayer+"ffn_up"),
		slice("ffn_up", "I,d", "2*I,d", "I", "2*I", hfLayer+"mlp.gate_up_proj", ggufLayer+"ffn_up"),
	),
}

// ernie45 is llama that rotates neighbours, in files of all formats.
var ernie45 = Family{
	ID: "ernie4_5", ModelTypes: []string{"ernie4_5"},
	Arch: "ernie4_5", ReadsArch: true, Reorders: true, Neighbours: true,
	Defaults: Defaults{
		Hidden: 1024, Layers: 18, Heads: 16, KVHeads: 2, HeadDim: 128, FFN: 3072, Vocab: 103424, Context: 131072,
		NormEps: 1e-5, Theta: 5e5, Act: "silu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		o.biases(c, false, "use_bias")
		c.Interleaved = true
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// olmo2 normalizes branches after they are computed, and all heads of q and k
// together.
var olmo2 = Family{
	ID: "olmo2", ModelTypes: []string{"olmo2"},
	Arch: "olmo2", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 50304, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "silu",
		QKNorm: true, QKKind: qkWhole, FFNBias: Absent,
	},
	GGUF: func(h *header, c *Config) {
		if window := h.int("window", 0, maxLength, "attention.sliding_window"); window > 0 {
			h.setWindows(c, window, 4)
			full := c.rope("full")
			c.slidingRope(RotaryTable{Name: "sliding", Dim: full.Dim, Scaling: PlainRope, Scale: 1,
				Theta: h.float("rope.sliding.theta", float64(full.Theta), "rope.freq_base_swa")})
		}
	},
	Prologue: embedText, Mixers: postMixers, FFNs: postFFNs, Epilogue: headText,
	Weights: postWeights.with(
		norm("attn_q_norm", "H*h", hfLayer+"self_attn.q_norm", ggufLayer+"attn_q_norm"),
		norm("attn_k_norm", "K*h", hfLayer+"self_attn.k_norm", ggufLayer+"attn_k_norm"),
	),
}

// olmo3 is olmo2 with a window in three of four layers; only the others scale
// their rotations.
var olmo3 = Family{
	ID: "olmo3", ModelTypes: []string{"olmo3"}, Arch: "olmo2", StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 50304, Context: 2048, NormEps: 1e-5, Theta: 5e5, Act: "silu",
		QKNorm: true, QKKind: qkWhole, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.setWindows(c, o.Int("window", 4096, maxLength, "sliding_window"), func(i int) bool { return (i+1)%4 != 0 })
		if _, perKind := o.ropeObject("sliding_attention"); !perKind {
			full := c.rope("full")
			c.slidingRope(RotaryTable{Name: "sliding", Dim: full.Dim, Scaling: PlainRope, Scale: 1, Theta: full.Theta})
		}
	},
	Prologue: embedText, Mixers: postMixers, FFNs: postFFNs, Epilogue: headText, Weights: olmo2.Weights,
}

// exaone4 also does so, with norms of each head; layers without a window have no
// positions if others have one.
var exaone4 = Family{
	ID: "exaone4", ModelTypes: []string{"exaone4"},
	Arch: "exaone4", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 32, FFN: 16384, Vocab: 102400, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "silu",
		QKNorm: true, QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		window := o.Int("window", 4096, maxLength, "sliding_window")
		o.setWindows(c, window, o.pattern("sliding_window_pattern", 4))
		if window > 0 {
			c.ropeWithWindow()
		}
	},
	GGUF: func(h *header, c *Config) {
		if window := h.int("window", 0, maxLength, "attention.sliding_window"); window > 0 {
			h.setWindows(c, window, 4)
			c.ropeWithWindow()
		}
	},
	Prologue: embedText, Mixers: postMixers, FFNs: postFFNs, Epilogue: headText, Weights: postWeights,
}

// pattern reads which layers have a window: all but every n-th, or as the letters
// of a text say in turn, L for those with one.
func (o *object) pattern(key string, every int) func(int) bool {
	if text, ok := o.M[key].(string); ok && strings.Trim(text, "LG") == "" && text != "" {
		o.Prov["window_pattern"] = "file " + o.Prefix + key
		return func(i int) bool { return text[i%len(text)] == 'L' }
	}
	n := o.Int("window_pattern", every, maxLayers, key)
	return func(i int) bool { return n > 0 && (i+1)%n != 0 }
}

var postWeights = llamaWeights.without("attn_norm", "ffn_norm").with(
	norm("post_attn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"post_attention_norm"),
	norm("post_ffn_norm", "d", hfLayer+"post_feedforward_layernorm", ggufLayer+"post_ffw_norm"),
)

// hunyuanDense normalizes heads after their rotation.
var hunyuanDense = Family{
	ID: "hunyuan_v1_dense", ModelTypes: []string{"hunyuan_v1_dense"},
	Arch: "hunyuan-dense", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 290943, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "silu",
		QKNorm: true, QKKind: qkAfter, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		p := presentIf(o.Bool("qkv_bias", false, "attention_bias"))
		c.QKVBias, c.OutBias = p, p
		o.alpha(c)
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText,
	Weights: llamaWeights.with(
		norm("attn_q_norm", "h", hfLayer+"self_attn.query_layernorm", ggufLayer+"attn_q_norm").heads("1"),
		norm("attn_k_norm", "h", hfLayer+"self_attn.key_layernorm", ggufLayer+"attn_k_norm").heads("1"),
	),
}
