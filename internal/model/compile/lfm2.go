package compile

import (
	"slices"
	"strings"

	"atenia/internal/plan"
)

var convMixer = plan.Program{
	attention[0],
	{Op: plan.OpShortConv, Out: "a", In: []string{"n"}, W: w{
		"in": "sc_in", "conv": "sc_conv", "out": "sc_out", "in_bias": "sc_in_bias", "conv_bias": "sc_conv_bias", "out_bias": "sc_out_bias",
	}, Tag: "conv"},
	attention[2],
}

// lfm2Weights: the norm after the last layer is embedding_norm.
var lfm2Weights = llamaWeights.with(
	WeightSpec{ID: "output_norm", Shape: "d", Norm: true, HF: named("{p}embedding_norm", ".weight"),
		GGUF: []Origin{{Name: "token_embd_norm.weight"}, {Name: "output_norm.weight"}}},
	norm("attn_norm", "d", hfLayer+"operator_norm", ggufLayer+"attn_norm"),
	norm("ffn_norm", "d", hfLayer+"ffn_norm", ggufLayer+"ffn_norm"),
	matrix("attn_o", "d,H*h", hfLayer+"self_attn.out_proj", ggufLayer+"attn_output"),
	norm("attn_q_norm", "h", hfLayer+"self_attn.q_layernorm", ggufLayer+"attn_q_norm"),
	norm("attn_k_norm", "h", hfLayer+"self_attn.k_layernorm", ggufLayer+"attn_k_norm"),
	matrix("ffn_gate", "I,d", hfLayer+"feed_forward.w1", ggufLayer+"ffn_gate"),
	matrix("ffn_up", "I,d", hfLayer+"feed_forward.w3", ggufLayer+"ffn_up"),
	matrix("ffn_down", "d,I", hfLayer+"feed_forward.w2", ggufLayer+"ffn_down"),
	matrix("sc_in", "3*d,d", hfLayer+"conv.in_proj", ggufLayer+"shortconv.in_proj"),
	taps("sc_conv", "d", "conv.taps", hfLayer+"conv.conv", ggufLayer+"shortconv.conv"),
	matrix("sc_out", "d,d", hfLayer+"conv.out_proj", ggufLayer+"shortconv.out_proj"),
	bias("sc_in_bias", "3*d", "conv.bias", hfLayer+"conv.in_proj", ggufLayer+"shortconv.in_proj"),
	bias("sc_conv_bias", "d", "conv.bias", hfLayer+"conv.conv", ggufLayer+"shortconv.conv"),
	bias("sc_out_bias", "d", "conv.bias", hfLayer+"conv.out_proj", ggufLayer+"shortconv.out_proj"),
)

// taps returns the weight of a depthwise convolution, which Hugging Face files have with
// an axis of one.
func taps(id, channels, kernel, hf, gguf string) WeightSpec {
	s := matrix(id, channels+","+kernel, hf, gguf)
	s.HF[0].Of = channels + ",1," + kernel
	return s
}

// lfm2 has short convolutions in place of most of its attention layers.
var lfm2 = Family{
	ID: "lfm2", ModelTypes: []string{"lfm2"},
	Arch: "lfm2", ReadsArch: true, KVByLayer: true,
	Defaults: Defaults{
		Hidden: 2560, Layers: 32, Heads: 32, KVHeads: 8, FFN: 12288, Vocab: 65536, Context: 128000,
		NormEps: 1e-5, Theta: 1e6, Act: "silu", Tied: true, QKNorm: true, QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.readShortConv(c)
		c.FFN = o.Int("ffn", c.FFN, maxWidth, "block_ff_dim", "intermediate_size")
		if !o.Bool("adjust_ffn", true, "block_auto_adjust_ff_dim") {
			return
		}
		c.FFN = 2 * c.FFN / 3
		if v, _, found := o.Find("ffn_multiplier", []string{"block_ffn_dim_multiplier"}); found && v == nil {
			return
		}
		c.FFN = int(float64(o.Float("ffn_multiplier", 1, "block_ffn_dim_multiplier")) * float64(c.FFN))
		unit := max(1, o.Int("ffn_unit", 256, maxWidth, "block_multiple_of"))
		c.FFN = (c.FFN + unit - 1) / unit * unit
	},
	GGUF:     func(h *header, c *Config) { h.readShortConv(c) },
	Prologue: embedText, Mixers: convMixers, FFNs: preFFNs, Epilogue: headText, Weights: lfm2Weights,
}

// lfm2MoE has mixtures after its first layers.
var lfm2MoE = Family{
	ID: "lfm2_moe", ModelTypes: []string{"lfm2_moe"},
	Arch: "lfm2moe", ReadsArch: true, KVByLayer: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 32, Heads: 32, KVHeads: 8, FFN: 7168, Vocab: 65536, Context: 128000,
		NormEps: 1e-5, Theta: 1e6, Act: "silu", Tied: true, QKNorm: true, QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
		Mixture: Mixture{Renorm: true, Gate: gateSigmoid, RenormEps: 1e-6},
	},
	HF: func(o *object, c *Config) {
		o.readShortConv(c)
		o.readMixture(c, Mixture{Experts: 32, TopK: 4, Width: 1792, Renorm: true})
		m := &c.Mixture
		m.Gate, m.RenormEps = gateSigmoid, 1e-6
		m.SelectBias = o.Bool("expert_select_bias", true, "use_expert_bias")
		m.Scale = o.Float("expert_scale", 1, "routed_scaling_factor")
		for i := range min(o.Int("dense_layers", 2, maxLayers, "num_dense_layers"), len(c.Layers)) {
			c.Layers[i].FFN = ffnDense
		}
	},
	GGUF:     func(h *header, c *Config) { h.readShortConv(c) },
	Prologue: embedText, Mixers: convMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: lfm2MoEWeights,
}

var lfm2MoEWeights = lfm2Weights.with(experts("feed_forward", "w1", "w3", "w2")...).with(
	WeightSpec{ID: "ffn_select_bias", Shape: "E", If: "select_bias",
		HF: []Origin{{Name: hfLayer + "feed_forward.expert_bias"}}, GGUF: named(ggufLayer+"exp_probs_b", ".bias")})

var convMixers = map[string]plan.Program{mixAttention: attention, mixConv: convMixer}

// readShortConv reads the convolution of lfm2 and the layers that have it.
func (o *object) readShortConv(c *Config) {
	c.NormEps = o.Float("norm_eps", float64(c.NormEps), "norm_eps")
	c.ShortConv.Kernel = o.Int("conv_kernel", 3, maxTaps, "conv_L_cache")
	c.ShortConv.Bias = o.Bool("conv_bias", false, "conv_bias")
	if o.setMixers(c, map[string]string{"conv": mixConv, "full_attention": mixAttention, "attention": mixAttention}) {
		return
	}
	if v, _, found := o.Find("attention_layers", []string{"full_attn_idxs"}); !found || v == nil {
		return // every layer attends
	}
	attends := o.Floats("attention_layers", "full_attn_idxs")
	for i := range c.Layers {
		if !slices.Contains(attends, float32(i)) {
			c.setMixer(i, mixConv)
		}
	}
}

func (h *header) readShortConv(c *Config) {
	c.ShortConv.Kernel = h.int("conv_kernel", 3, maxTaps, "shortconv.l_cache")
	for name := range h.tensors {
		c.ShortConv.Bias = c.ShortConv.Bias || strings.HasSuffix(name, ".shortconv.conv.bias")
	}
	h.hybrid(c, mixConv)
}
