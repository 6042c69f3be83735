package compile

import (
	"math"

	"atenia/internal/plan"
)

// mpt has no biases and no positions but linear biases on distance.
var mpt = Family{
	ID: "mpt", ModelTypes: []string{"mpt"},
	Arch: "mpt", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 24, Heads: 16, Vocab: 50368, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "gelu", Tied: true,
		NormKind: layerNorm, Ungated: true, QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		if !o.Bool("no_bias", true, "no_bias") {
			o.Bad("no_bias", "true", false)
		}
		c.FFN = o.Int("ffn", 4, maxWidth, "expansion_ratio") * c.Hidden
		c.Alibi = 8
		if a := o.sub("attn_config"); a != nil {
			if !a.Bool("alibi", true, "alibi") {
				a.Bad("alibi", "true", false)
			}
			a.refuse("qk_ln", false, "known, but norms of queries and keys of this family are not supported")
			a.refuse("prefix_lm", false, "known, but attention in both directions to a prefix is not supported")
			c.Alibi = a.Float("alibi", 8, "alibi_bias_max")
			c.Clip = a.Float("clip", 0, "clip_qkv")
			if s := a.Float("attn_scale", 0, "softmax_scale"); s != 0 {
				c.AttnScale = s
			}
		}
		if v, ok := o.M["logit_scale"]; ok && v != nil {
			o.Bad("logit_scale", "null", v)
		}
		c.noRope()
	},
	GGUF: func(h *header, c *Config) {
		c.Alibi = h.float("alibi", 8, alibiKey)
		c.Clip = h.float("clip", 0, clipKey)
		c.noRope()
	},
	Prologue: embedText, Mixers: layerMixers, FFNs: layerFFNs, Epilogue: layerHead,
	Weights: WeightMap{
		matrix("token_embd", "V,d", "{p}wte", "token_embd"),
		matrix("output", "V,d", "{q}lm_head", "output"),
		norm("output_norm", "d", "{p}norm_f", "output_norm"),
		norm("attn_norm", "d", mptLayer+"norm_1", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", mptLayer+"norm_2", ggufLayer+"ffn_norm"),
	}.with(fused(qkvIDs, qkvShapes, "d", Origin{}, mptLayer+"attn.Wqkv", ggufLayer+"attn_qkv", "qkv_bias")...).
		with(attended(mptLayer + "attn.out_proj")...).
		with(ungated(mptLayer+"ffn.up_proj", mptLayer+"ffn.down_proj")...),
}

const mptLayer = "{p}blocks.{l}."

// bloom also normalizes embeddings.
var bloom = Family{
	ID: "bloom", ModelTypes: []string{"bloom"},
	Arch: "bloom", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 64, Layers: 2, Heads: 8, Vocab: 250880, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "gelu_new", Tied: true,
		NormKind: layerNorm, Ungated: true, QKVBias: Present, OutBias: Present, FFNBias: Present,
	},
	HF: func(o *object, c *Config) {
		o.refuse("apply_residual_connection_post_layernorm", false, "known, but residual connections after norms are not supported")
		if o.Has("seq_length") {
			c.Context = o.Int("context", 2048, maxLength, "seq_length")
		}
		c.FFN, c.Alibi = 4*c.Hidden, 8
		c.noRope()
	},
	GGUF: func(h *header, c *Config) {
		c.Alibi = h.float("alibi", 8, alibiKey)
		c.noRope()
	},
	Prologue: embedNormed, Mixers: layerMixers, FFNs: layerFFNs, Epilogue: layerHead,
	Weights: WeightMap{
		matrix("token_embd", "V,d", "{p}word_embeddings", "token_embd"),
		matrix("output", "V,d", "{q}lm_head", "output"),
	}.with(layered(
		norm("token_embd_norm", "d", "{p}word_embeddings_layernorm", "token_embd_norm"),
		norm("output_norm", "d", "{p}ln_f", "output_norm"),
		norm("attn_norm", "d", gptLayer+"input_layernorm", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", gptLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
	)...).with(falconLinears...),
}

// falconLinears are the matrices of falcon and bloom.
var falconLinears = append(append(
	fused(qkvIDs, qkvShapes, "d", groupsOf("K"), gptLayer+"self_attention.query_key_value", ggufLayer+"attn_qkv", "qkv_bias"),
	attended(gptLayer+"self_attention.dense")...),
	ungated(gptLayer+"mlp.dense_h_to_4h", gptLayer+"mlp.dense_4h_to_h")...)

// falcon of 7 billion parameters has one key head and one norm for both halves
// of a block; the larger ones have a norm for each.
var falcon = Family{
	ID: "falcon", ModelTypes: []string{"falcon"},
	Arch: "falcon", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 4544, Layers: 32, Heads: 71, Vocab: 65024, Context: 2048, NormEps: 1e-5, Theta: 1e4, Act: "gelu", Tied: true,
		NormKind: layerNorm, Ungated: true,
	},
	HF: func(o *object, c *Config) {
		// The reference rounds these biases to bfloat16, so that far positions differ.
		o.refuse("alibi", false, "known, but its rounded biases on distance are not supported")
		o.biases(c, false, "bias")
		c.widen(4)
		larger := o.Bool("larger", false, "new_decoder_architecture")
		switch {
		case larger:
		case o.Bool("multi_query", true, "multi_query"):
			c.KVHeads = 1
		default:
			c.KVHeads = c.Heads
		}
		norms := o.Int("norms", 0, 2, "num_ln_in_parallel_attn")
		switch {
		case larger && (norms == 0 || norms == 2):
			c.eachLayer(mixParallel2, ffnNone)
		case larger || o.Bool("parallel", true, "parallel_attn"):
			c.eachLayer(mixParallel, ffnNone)
		}
		delete(o.Prov, "larger")
	},
	GGUF: func(h *header, c *Config) {
		mixer := mixParallel
		if h.tensors["blk.0.attn_norm_2.weight"] != nil {
			mixer = mixParallel2
		}
		c.eachLayer(mixer, ffnNone)
	},
	Prologue: embedText, FFNs: eitherFFNs, Epilogue: layerHead,
	Mixers: map[string]plan.Program{mixAttention: layerAttention, mixParallel: parallelBlock, mixParallel2: {
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm_2", "bias": "attn_norm_2_bias"}, Tag: "attn_norm"},
		parallelNorms[1],
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "attn_norm_1", "bias": "attn_norm_1_bias"}, Tag: "ffn_norm"},
		parallelNorms[3], parallelNorms[4], parallelNorms[5],
	}},
	Weights: WeightMap{
		matrix("token_embd", "V,d", "{p}word_embeddings", "token_embd"),
		matrix("output", "V,d", "{q}lm_head", "output"),
	}.with(layered(
		norm("output_norm", "d", "{p}ln_f", "output_norm"),
		norm("attn_norm", "d", gptLayer+"input_layernorm", ggufLayer+"attn_norm"),
		norm("ffn_norm", "d", gptLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
		// The second in the order of the format is the attention's.
		norm("attn_norm_1", "d", gptLayer+"ln_mlp", ggufLayer+"attn_norm"),
		norm("attn_norm_2", "d", gptLayer+"ln_attn", ggufLayer+"attn_norm_2"),
	)...).with(falconLinears...),
}

// alpha turns a dynamic scaling with a fixed alpha into the base that it means.
func (o *object) alpha(c *Config) {
	t := c.rope("full")
	r, _ := o.ropeObject("full_attention")
	if r == nil || t == nil || t.Scaling != Dynamic || t.Dim < 3 {
		return
	}
	if a := r.Float("rope.full.alpha", 0, "alpha"); a != 0 {
		dim := float64(t.Dim)
		*t = RotaryTable{Name: t.Name, Dim: t.Dim, Scaling: PlainRope, Scale: 1, Theta: float32(float64(t.Theta) * math.Pow(float64(a), dim/(dim-2)))}
	}
}
