package compile

import (
	"strings"

	"atenia/internal/plan"
)

// gpt2 keeps matrices with rows for inputs (Conv1D), and has learned positions.
var gpt2 = Family{
	ID: "gpt2", ModelTypes: []string{"gpt2"},
	Arch: "gpt2", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 768, Layers: 12, Heads: 12, Vocab: 50257, Context: 1024, NormEps: 1e-5, Theta: 1e4, Act: "gelu_new", Tied: true,
		NormKind: layerNorm, Ungated: true, QKVBias: Present, OutBias: Present, FFNBias: Present,
	},
	HF: func(o *object, c *Config) {
		o.refuse("scale_attn_by_inverse_layer_idx", false, "known, but scores that are scaled by layer are not supported")
		o.refuse("add_cross_attention", false, needsEncoder)
		if !o.Bool("attn_scaled", true, "scale_attn_weights") {
			c.AttnScale = 1
		}
		c.widen(4)
		c.noRope()
	},
	GGUF:     func(_ *header, c *Config) { c.noRope() },
	Prologue: embedPositions, Mixers: layerMixers, FFNs: layerFFNs, Epilogue: layerHead,
	Weights: WeightMap{
		matrix("token_embd", "V,d", "{p}wte", "token_embd"),
		matrix("position_embd", "older.positions,d", "{p}wpe", "position_embd"),
		matrix("output", "V,d", "{q}lm_head", "output"),
	}.with(layered(
		norm("output_norm", "d", "{p}ln_f", "output_norm"),
		norm("attn_norm", "d", gptLayer+"ln_1", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", gptLayer+"ln_2", ggufLayer+"ffn_norm"),
	)...).with(fused(qkvIDs, qkvShapes, "d", Origin{Turn: true}, gptLayer+"attn.c_attn", ggufLayer+"attn_qkv", "qkv_bias")...).
		with(byColumns(append(attended(gptLayer+"attn.c_proj"), ungated(gptLayer+"mlp.c_fc", gptLayer+"mlp.c_proj")...))...),
}

const gptLayer = "{p}h.{l}."

// byColumns returns specs whose matrices have columns where others have rows, in
// Hugging Face files.
func byColumns(specs []WeightSpec) []WeightSpec {
	for i := range specs {
		rows, cols, matrix := strings.Cut(specs[i].Shape, ",")
		if !matrix {
			continue
		}
		for j := range specs[i].HF {
			o := &specs[i].HF[j]
			o.Turn, o.Of = true, cols+","+rows
		}
	}
	return specs
}

// gptNeoX is also pythia.
var gptNeoX = Family{
	ID: "gpt_neox", ModelTypes: []string{"gpt_neox"},
	Arch: "gptneox", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 6144, Layers: 44, Heads: 64, FFN: 24576, Vocab: 50432, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "gelu",
		NormKind: layerNorm, Ungated: true, FFNBias: Present,
	},
	HF: func(o *object, c *Config) {
		c.QKVBias = presentIf(o.Bool("qkv_bias", true, "attention_bias"))
		c.OutBias = c.QKVBias
		o.partial(c, 0.25, "rotary_pct")
		if t := c.rope("full"); t != nil && o.Has("rotary_emb_base") {
			t.Theta = o.Float("rope.full.theta", 1e4, "rotary_emb_base")
		}
		if o.Bool("parallel", true, parallelKey) {
			c.eachLayer(mixParallel2, ffnNone)
		}
	},
	GGUF: func(h *header, c *Config) {
		if h.flag("parallel", true, parallelKey) {
			c.eachLayer(mixParallel2, ffnNone)
		}
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixAttention: layerAttention, mixParallel2: parallelNorms}, FFNs: eitherFFNs, Epilogue: layerHead,
	Weights: WeightMap{
		matrix("token_embd", "V,d", "{p}embed_in", "token_embd"),
		matrix("output", "V,d", "{q}embed_out", "output"),
	}.with(layered(
		norm("output_norm", "d", "{p}final_layer_norm", "output_norm"),
		norm("attn_norm", "d", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
	)...).with(fused(qkvIDs, qkvShapes, "d", groupsOf("K"), hfLayer+"attention.query_key_value", ggufLayer+"attn_qkv", "qkv_bias")...).
		with(attended(hfLayer + "attention.dense")...).
		with(ungated(hfLayer+"mlp.dense_h_to_4h", hfLayer+"mlp.dense_4h_to_h")...),
}

// phi2 is also phi-1 and phi-1.5: blocks in parallel, half of each head rotated.
var phi2 = Family{
	ID: "phi", ModelTypes: []string{"phi"},
	Arch: "phi2", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 24, Heads: 32, FFN: 8192, Vocab: 51200, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "gelu_new",
		NormKind: layerNorm, Ungated: true, QKVBias: Present, OutBias: Present, FFNBias: Present,
	},
	HF: func(o *object, c *Config) {
		o.refuse("qk_layernorm", false, "known, but norms with biases of queries and keys are not supported")
		o.partial(c, 0.5, "partial_rotary_factor")
		c.eachLayer(mixParallel, ffnNone)
	},
	GGUF:     func(_ *header, c *Config) { c.eachLayer(mixParallel, ffnNone) },
	Prologue: embedText, Mixers: parallelMixers, FFNs: noFFNs, Epilogue: layerHead,
	Weights: llamaWeights.without("ffn_norm", "ffn_gate", "ffn_gate_bias", "attn_q_norm", "attn_k_norm").with(layered(
		norm("output_norm", "d", "{p}final_layernorm", "output_norm"),
		norm("attn_norm", "d", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
	)...).with(attended(hfLayer + "self_attn.dense")...).
		with(ungated(hfLayer+"mlp.fc1", hfLayer+"mlp.fc2")...).
		with(bias("output_bias", "V", "", "{q}lm_head", "output")).
		orFused(ggufLayer + "attn_qkv"),
}

// orFused adds a second place for q, k and v in GGUF files: one tensor for all.
func (m WeightMap) orFused(gguf string) WeightMap {
	for _, s := range fused(qkvIDs, qkvShapes, "d", Origin{}, gguf, gguf, "qkv_bias") {
		if mine := m.get(s.ID); mine != nil {
			mine.GGUF = append(mine.GGUF[:len(mine.GGUF):len(mine.GGUF)], s.GGUF...)
		}
	}
	return m
}

// starcoder2 is llama with layer norms, biases and no gate.
var starcoder2 = Family{
	ID: "starcoder2", ModelTypes: []string{"starcoder2"},
	Arch: "starcoder2", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 3072, Layers: 30, Heads: 24, KVHeads: 2, FFN: 12288, Vocab: 49152, Context: 4096, NormEps: 1e-5, Theta: 1e4,
		Act: "gelu_pytorch_tanh", Tied: true, NormKind: layerNorm, Ungated: true,
	},
	HF: func(o *object, c *Config) {
		o.biases(c, true, "use_bias")
		o.setWindows(c, o.Int("window", 0, maxLength, "sliding_window"), everyLayer)
	},
	Prologue: embedText, Mixers: layerMixers, FFNs: layerFFNs, Epilogue: layerHead,
	Weights: llamaWeights.without("ffn_gate", "ffn_gate_bias", "attn_q_norm", "attn_k_norm").with(layered(
		norm("output_norm", "d", "{p}norm", "output_norm"),
		norm("attn_norm", "d", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
	)...).with(ungated(hfLayer+"mlp.c_fc", hfLayer+"mlp.c_proj")...),
}

// stablelm is llama with layer norms and a quarter of each head rotated; the
// larger ones are parallel and normalize queries and keys.
var stablelm = Family{
	ID: "stablelm", ModelTypes: []string{"stablelm"},
	Arch: "stablelm", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2560, Layers: 32, Heads: 32, KVHeads: 32, FFN: 6912, Vocab: 50304, Context: 4096, NormEps: 1e-5, Theta: 1e4, Act: "silu",
		NormKind: layerNorm, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		c.QKVBias = presentIf(o.Bool("qkv_bias", false, "use_qkv_bias"))
		c.normHeads(o.Bool("qk_norm", false, "qk_layernorm"))
		o.partial(c, 0.25, "partial_rotary_factor")
		if o.Bool("parallel", false, parallelKey) {
			c.eachLayer(mixParallel, ffnNone)
		}
	},
	GGUF: func(h *header, c *Config) {
		c.normHeads(h.tensors["blk.0.attn_q_norm.weight"] != nil)
		if h.flag("parallel", false, parallelKey) {
			c.eachLayer(mixParallel, ffnNone)
		}
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixAttention: layerAttention, mixParallel: parallelBlock}, FFNs: eitherFFNs, Epilogue: layerHead,
	Weights: llamaWeights.with(layered(
		norm("output_norm", "d", "{p}norm", "output_norm"),
		norm("attn_norm", "d", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
	)...).with(headsNormed(true, "self_attn.q_layernorm", "self_attn.k_layernorm")...),
}

// normHeads sets whether queries and keys have layer norms, head by head.
func (c *Config) normHeads(yes bool) {
	if c.QKNorm = yes; yes {
		c.QKKind = qkLayer
	}
}
