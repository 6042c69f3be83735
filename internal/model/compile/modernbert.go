package compile

import (
	"slices"

	"atenia/internal/plan"
)

const modernLayer = "{p}layers.{l}."

// hiddenAct is the key of the function of gated feed-forward layers.
const hiddenAct = "hidden_activation"

// modernBERT normalizes before each branch, has rotary positions of two bases,
// and windows in two of three layers. The first layer's input is normalized as it
// is embedded and not again.
var modernBERT = Family{
	ID: "modern-bert", ModelTypes: []string{"modernbert"},
	Arch: "modern-bert", ReadsArch: true, StatesWindow: true, StatesPattern: true, StatesAct: true,
	Defaults: Defaults{
		Hidden: 768, Layers: 22, Heads: 12, FFN: 1152, Vocab: 50368, Context: 8192, NormEps: 1e-5, Theta: 160000, Act: "gelu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		o.encoder(c)
		if o.Has("global_rope_theta") {
			c.rope("full").Theta = o.Float("rope.full.theta", 160000, "global_rope_theta")
		}
		every := o.Int("window_pattern", 3, maxLayers, "global_attn_every_n_layers")
		o.setWindows(c, o.Int("window", 128, maxLength, "local_attention"), func(i int) bool { return every > 0 && i%every != 0 })
		local := RotaryTable{Name: "sliding", Dim: c.HeadDim, Scaling: PlainRope, Scale: 1}
		if r, perKind := o.ropeObject("sliding_attention"); perKind {
			local = o.readRope("sliding", r, 1e4, 0, c)
		} else {
			local.Theta = o.Float("rope.sliding.theta", 1e4, "local_rope_theta")
		}
		c.slidingRope(local)
		c.bareFirst()
		o.classifier(c, o.Text("classifier", "gelu", "classifier_activation"))
		c.Encoder.HeadNorm = c.Encoder.Labels > 0
		if c.Encoder.Labels > 0 {
			c.Encoder.Pool = o.Text("classifier_pooling", poolFirst, "classifier_pooling")
		}
	},
	GGUF: func(h *header, c *Config) {
		h.encoder(c)
		window := h.int("window", 0, maxLength, "attention.sliding_window")
		h.windowsFrom(c, window, 3, 0)
		if c.Act = actAliases[h.text("act", "gelu", hiddenAct)]; c.Act == "" {
			h.bad(hiddenAct, "gelu, silu or another known function", clip(h.text("act", "", hiddenAct)))
		}
		if c.Encoder.Labels > 0 {
			c.Encoder.Dense[0].Act = "gelu"
			if !h.has(classifierPool) {
				c.Encoder.Pool = poolMean // as llama.cpp reads files without the key
			}
		}
		local := RotaryTable{Name: "sliding", Dim: c.rope("full").Dim, Scaling: PlainRope, Scale: 1}
		local.Theta = h.float("rope.sliding.theta", 10000, "rope.freq_base_swa")
		c.slidingRope(local)
		c.bareFirst()
	},
	Prologue: plan.Program{
		{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd"}, Tag: "embed"},
		bertProlog[1],
	},
	Mixers: map[string]plan.Program{
		mixAttention: {
			{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm", "bias": "attn_norm_bias"}, Tag: "attn_norm"},
			{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: rotaryAttention, Tag: "attn"},
			attention[2],
		},
		mixBare: {
			{Op: plan.OpAttention, Out: "a", In: []string{"x"}, W: rotaryAttention, Tag: "attn"},
			attention[2],
		},
	},
	FFNs: map[string]plan.Program{ffnDense: {
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_bias"}, Tag: "ffn_norm"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: encoderGated, Tag: "ffn"},
		dense[2],
	}},
	Epilogue: plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm", "bias": "output_norm_bias"}, Tag: "output_norm"},
	},
	Weights: WeightMap(slices.Concat(
		WeightMap{
			matrix("token_embd", "V,d", "{p}embeddings.tok_embeddings", "token_embd"),
			slice("attn_q", "H*h,d", "H*h+2*K*h,d", "0", "H*h", modernLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			slice("attn_k", "K*h,d", "H*h+2*K*h,d", "H*h", "H*h+K*h", modernLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			slice("attn_v", "K*h,d", "H*h+2*K*h,d", "H*h+K*h", "H*h+2*K*h", modernLayer+"attn.Wqkv", ggufLayer+"attn_qkv"),
			matrix("attn_o", "d,H*h", modernLayer+"attn.Wo", ggufLayer+"attn_output"),
			slice("ffn_gate", "I,d", "2*I,d", "0", "I", modernLayer+"mlp.Wi", ggufLayer+"ffn_up"),
			slice("ffn_up", "I,d", "2*I,d", "I", "2*I", modernLayer+"mlp.Wi", ggufLayer+"ffn_up"),
			matrix("ffn_down", "d,I", modernLayer+"mlp.Wo", ggufLayer+"ffn_down"),
		},
		layerNormOf("embd_norm", "{p}embeddings.norm", "token_embd_norm"),
		layerNormOf("attn_norm", modernLayer+"attn_norm", ggufLayer+"attn_norm"),
		layerNormOf("ffn_norm", modernLayer+"mlp_norm", ggufLayer+"ffn_norm"),
		layerNormOf("output_norm", "{p}final_norm", "output_norm"),
		linear("cls", "d,d", "head.dense", "cls"),
		layerNormOf("cls_norm", "head.norm", "cls.norm"),
		linear("cls_out", "encoder.labels,d", "classifier", "cls.output"),
		denseWeights,
	)),
}

// bareFirst marks the first layer, which has no norm before its attention.
func (c *Config) bareFirst() {
	if len(c.Layers) > 0 {
		c.Layers[0].Mixer = mixBare
	}
}
