package compile

import (
	"slices"

	"atenia/internal/plan"
)

const nomicLayer = "{p}encoder.layers.{l}."

// nomicBERT is BERT with rotary positions and a gated feed-forward layer.
var nomicBERT = Family{
	ID: "nomic-bert", ModelTypes: []string{"nomic_bert"},
	Arch: "nomic-bert", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 768, Layers: 12, Heads: 12, FFN: 3072, Vocab: 30528, Context: 2048, NormEps: 1e-12, Theta: 1000, Act: "silu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		o.encoder(c)
		c.Encoder.Types = o.Int("types", 2, maxVocab, "type_vocab_size")
		o.nomic(c)
	},
	GGUF: func(h *header, c *Config) {
		h.encoder(c)
		c.Act = "silu"
	},
	Prologue: plan.Program{
		{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd", "type": "token_types"}, Tag: "embed"},
		bertProlog[1],
	},
	Mixers: map[string]plan.Program{mixAttention: {
		{Op: plan.OpAttention, Out: "a", In: []string{"x"}, W: rotaryAttention, Tag: "attn"},
		encoderPost[1],
		encoderPost[2],
	}},
	FFNs: map[string]plan.Program{ffnDense: {
		{Op: plan.OpFFN, Out: "f", In: []string{"x"}, W: encoderGated, Tag: "ffn"},
		encoderPlain[1],
		encoderPlain[2],
	}},
	Weights: WeightMap(slices.Concat(
		WeightMap{
			matrix("token_embd", "V,d", "{p}embeddings.word_embeddings", "token_embd"),
			matrix("token_types", "encoder.types,d", "{p}embeddings.token_type_embeddings", "token_types").when("encoder.types"),
			slice("attn_q", "H*h,d", "H*h+2*K*h,d", "0", "H*h", nomicLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			slice("attn_k", "K*h,d", "H*h+2*K*h,d", "H*h", "H*h+K*h", nomicLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			slice("attn_v", "K*h,d", "H*h+2*K*h,d", "H*h+K*h", "H*h+2*K*h", nomicLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			matrix("attn_o", "d,H*h", nomicLayer+"attn.out_proj", ggufLayer+"attn_output"),
			matrix("ffn_up", "I,d", nomicLayer+"mlp.fc11", ggufLayer+"ffn_up"),
			matrix("ffn_gate", "I,d", nomicLayer+"mlp.fc12", ggufLayer+"ffn_gate"),
			matrix("ffn_down", "d,I", nomicLayer+"mlp.fc2", ggufLayer+"ffn_down"),
		},
		layerNormOf("embd_norm", "{p}emb_ln", "token_embd_norm"),
		layerNormOf("attn_out_norm", nomicLayer+"norm1", ggufLayer+"attn_output_norm"),
		layerNormOf("layer_out_norm", nomicLayer+"norm2", ggufLayer+"layer_output_norm"),
		denseWeights,
	)),
}

// nomic reads the keys of the published files, and refuses variants that none of
// them uses.
func (o *object) nomic(c *Config) {
	c.Act = "silu"
	if act := o.Text("act", "swiglu", "activation_function"); act != "swiglu" && act != "silu" {
		o.Bad("activation_function", "swiglu", act)
	}
	for _, key := range []string{"prenorm", "use_rms_norm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "parallel_block", "rotary_emb_interleaved"} {
		if o.Bool(key, false, key) {
			o.Bad(key, "false", true)
		}
		delete(o.Prov, key)
	}
	if o.Has("rotary_emb_base") {
		c.rope("full").Theta = o.Float("rope.full.theta", 1000, "rotary_emb_base")
	}
	if o.Has("rotary_emb_fraction") {
		c.rope("full").Dim = int(float32(c.HeadDim) * o.Float("rope.full.dim", 1, "rotary_emb_fraction"))
	}
	if s := o.Float("rope.full.factor", 1, "rotary_scaling_factor"); s != 1 {
		o.Bad("rotary_scaling_factor", "null or 1", s)
	}
	if o.Has("max_trained_positions") { // beyond it the reference scales the base with the length of a text
		if n := o.Int("context", c.Context, maxLength, "max_trained_positions"); n > 0 {
			c.Context = min(c.Context, n)
		}
	}
}
