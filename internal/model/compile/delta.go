package compile

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/plan"
	"atenia/tensor"
)

// deltaFamilies are models with gated delta rules, short convolutions and RWKV mixers.
var deltaFamilies = []*Family{&lfm2}

// deltaTerms are the names that their weight maps use.
var deltaTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"conv.taps": func(c *Config) int { return c.ShortConv.Kernel },
	},
	conds: map[string]func(*Config) Presence{
		"conv.bias": func(c *Config) Presence { return presentIf(c.ShortConv.Bias) },
	},
}

// deltaTypes and deltaArchs are those of them that are refused by name.
var (
	deltaTypes = map[string]string{
		"qwen3_next":       needsRecurrent,
		"qwen3_5_text":     needsRecurrent,
		"qwen3_5_moe_text": needsRecurrent,
		"lfm2_moe":         needsRecurrent,
	}
	deltaArchs = map[string]string{
		"qwen3next": needsRecurrent,
		"qwen35":    needsRecurrent,
		"qwen35moe": needsRecurrent,
		"lfm2moe":   needsRecurrent,
	}
)

// A Delta is a gated delta rule (arXiv 2412.06464).
type Delta struct {
	KHeads, VHeads int
	KDim, VDim     int // of a head
	Conv           int // width of the convolution
}

func (d *Delta) check(bad func(field, want string, got any)) {}

// A ShortConv is a gated short convolution.
type ShortConv struct {
	Kernel int
	Bias   bool `json:",omitempty"` // of both projections and of the convolution
}

// maxTaps bounds the width of convolutions.
const maxTaps = 64

func (s *ShortConv) check(bad func(field, want string, got any)) {
	if s.Kernel < 1 || s.Kernel > maxTaps {
		bad("width of the convolution", fmt.Sprintf("1 to %d", maxTaps), s.Kernel)
	}
}

func (r *resolver) gatedDelta(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: gated_delta has no parameters yet", layer)
}

func (r *resolver) shortConv(layer int) (plan.Params, error) {
	return &plan.ConvParams{Layer: uint32(r.states.ordinal[layer]), Dim: uint32(r.c.Hidden), Kernel: uint32(r.c.ShortConv.Kernel)}, nil
}

// deltaSections and convSections are the parts of a layer's state.
func (c *Config) deltaSections() []plan.Section { return nil }

func (c *Config) convSections() []plan.Section {
	return []plan.Section{floatSection("conv", (c.ShortConv.Kernel-1)*c.Hidden)}
}

// floatSection is a section of n values of float32, the type of recurrent states
// whatever that of the activations.
func floatSection(name string, n int) plan.Section {
	return plan.Section{Name: name, Bytes: 4 * uint64(n), DType: tensor.F32}
}

// deltaKeys calls its arguments with llama.cpp's keys of these mixers.
func (c *Config) deltaKeys(u32 func(string, int), _ func(string, float32)) {
	if c.hasMixer(mixConv) {
		u32("shortconv.l_cache", c.ShortConv.Kernel)
	}
}

// setMixers gives layers the mixers of layer_types, whose names kinds translates.
func (o *object) setMixers(c *Config, kinds map[string]string) bool {
	names, ok := o.Strings("layer_types", "layer_types")
	if !ok {
		return false
	}
	if len(names) != len(c.Layers) {
		o.Bad("layer_types", fmt.Sprintf("%d layers", len(c.Layers)), len(names))
		return true
	}
	for i, k := range names {
		if _, known := kinds[k]; !known {
			o.Bad(fmt.Sprintf("layer_types[%d]", i), "a kind of layer of this family", k)
			return true
		}
		c.setMixer(i, kinds[k])
	}
	return true
}

// setMixer gives a layer its mixer; only attention has positions.
func (c *Config) setMixer(layer int, mixer string) {
	c.Layers[layer].Mixer = mixer
	if mixer != mixAttention {
		c.Layers[layer].Rope = ""
	}
}

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
