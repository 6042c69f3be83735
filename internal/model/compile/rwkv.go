package compile

import (
	"fmt"
	"math"

	"atenia/internal/kernel/chunk"
	"atenia/internal/plan"
)

// An RWKV is the mixers of RWKV-7 (arXiv 2503.14456). Its heads are those of the
// configuration.
type RWKV struct {
	DecayRank, RateRank, ValueRank, GateRank int // of products of two thin matrices
}

func (r *RWKV) check(c *Config, bad func(field, want string, got any)) {
	for _, x := range []struct {
		field string
		got   int
	}{{"rank of decays", r.DecayRank}, {"rank of rates", r.RateRank}, {"rank of values", r.ValueRank}, {"rank of gates", r.GateRank}} {
		if x.got < 1 || x.got > maxWidth {
			bad(x.field, fmt.Sprintf("1 to %d", maxWidth), x.got)
		}
	}
	if c.Heads*c.HeadDim != c.Hidden {
		bad("width of heads", fmt.Sprintf("a divisor of the hidden size %d", c.Hidden), c.HeadDim)
	}
}

func (r *resolver) rwkv(layer int) *plan.RWKVParams {
	c, m := r.c, &r.c.RWKV
	return &plan.RWKVParams{
		Layer: uint32(r.states.ordinal[layer]), Dim: uint32(c.Hidden), Heads: uint32(c.Heads), HeadDim: uint32(c.HeadDim), Hidden: uint32(c.FFN),
		DecayRank: uint32(m.DecayRank), RateRank: uint32(m.RateRank), ValueRank: uint32(m.ValueRank), GateRank: uint32(m.GateRank),
		NormEps: c.NormEps * float32(c.HeadDim),
	}
}

func (c *Config) rwkvSections() []plan.Section {
	return []plan.Section{floatSection("shift", c.Hidden), floatSection("channel", c.Hidden), floatSection("wkv", c.Heads*chunk.GeneralLen(c.HeadDim, c.HeadDim))}
}

// rwkvKeys puts llama.cpp's keys.
func (c *Config) rwkvKeys(u32 func(string, int)) {
	m := &c.RWKV
	u32("wkv.head_size", c.HeadDim)
	u32("attention.decay_lora_rank", m.DecayRank)
	u32("attention.iclr_lora_rank", m.RateRank)
	u32("attention.value_residual_mix_lora_rank", m.ValueRank)
	u32("attention.gate_lora_rank", m.GateRank)
}

// setRWKV makes all layers those of RWKV-7.
func (c *Config) setRWKV() {
	c.NormKind, c.Ungated = layerNorm, true
	c.Heads = c.Hidden / max(1, c.HeadDim)
	c.KVHeads = c.Heads
	c.AttnScale = float32(1 / math.Sqrt(float64(max(1, c.HeadDim)))) // of no effect
	for i := range c.Layers {
		c.setMixer(i, mixRWKV)
		c.Layers[i].FFN = ffnChannel
	}
	if len(c.Layers) > 0 {
		c.setMixer(0, mixRWKVFirst)
	}
}

var (
	timeMixWeights = w{
		"x_r": "rwkv_x_r", "x_w": "rwkv_x_w", "x_k": "rwkv_x_k", "x_a": "rwkv_x_a", "x_g": "rwkv_x_g",
		"r": "rwkv_r", "k": "rwkv_k", "o": "rwkv_o", "d1": "rwkv_w1", "d2": "rwkv_w2", "d0": "rwkv_w0",
		"a1": "rwkv_a1", "a2": "rwkv_a2", "a0": "rwkv_a0", "g1": "rwkv_g1", "g2": "rwkv_g2",
		"k_k": "rwkv_k_k", "k_a": "rwkv_k_a", "r_k": "rwkv_r_k", "norm": "rwkv_norm", "norm_bias": "rwkv_norm_bias",
	}
	timeMixOwn  = w{"x_v": "rwkv_x_v", "v": "rwkv_v", "v1": "rwkv_v1", "v2": "rwkv_v2", "v0": "rwkv_v0"}
	rwkvNorm    = plan.LayerOp{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm", "bias": "attn_norm_bias"}, Tag: "attn_norm"}
	rwkvPrelude = plan.Program{
		embedText[0],
		{Op: plan.OpNorm, Out: "e0", In: []string{"e"}, W: w{"weight": "embed_norm", "bias": "embed_norm_bias"}, Tag: "embed_norm"},
	}
	rwkvMixers = map[string]plan.Program{
		mixRWKVFirst: {
			rwkvNorm,
			{Op: plan.OpRWKVValue, Out: "first_values", In: []string{"n"}, W: w{"x_v": "rwkv_x_v", "v": "rwkv_v"}, All: true, Tag: "value"},
			{Op: plan.OpRWKVTimeMix, Out: "a", In: []string{"n", "first_values"}, W: timeMixWeights, Tag: "time_mix"},
			attention[2],
		},
		mixRWKV: {
			rwkvNorm,
			{Op: plan.OpRWKVTimeMix, Out: "a", In: []string{"n", "first_values"}, W: joinSlots(timeMixWeights, timeMixOwn), Tag: "time_mix"},
			attention[2],
		},
	}
	rwkvFFNs = map[string]plan.Program{ffnChannel: {
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_bias"}, Tag: "ffn_norm"},
		{Op: plan.OpRWKVChannelMix, Out: "f", In: []string{"n2"}, W: w{"x_k": "rwkv_ffn_x", "key": "rwkv_ffn_key", "value": "rwkv_ffn_value"}, Tag: "channel_mix"},
		dense[2],
	}}
	rwkvHead = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm", "bias": "output_norm_bias"}, Tag: "output_norm"},
		headText[1],
	}
)

func joinSlots(a, b w) w {
	out := w{}
	for _, m := range []w{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// rwkvDummies are tensors that llama.cpp wants to exist and does not use.
var rwkvDummies = []string{"blk.0.time_mix_v0.weight", "blk.0.time_mix_v1.weight", "blk.0.time_mix_v2.weight"}

// dummies returns them: copies of the rates'.
func (m *Model) dummies(all []Weight) []Weight {
	if !m.Config.hasMixer(mixRWKVFirst) {
		return nil
	}
	var out []Weight
	for i, name := range rwkvDummies {
		for _, t := range all {
			if t.Name == fmt.Sprintf("blk.0.time_mix_a%d.weight", i) {
				t.Name = name
				out = append(out, t)
			}
		}
	}
	return out
}

// rwkvMu is the i-th of six vectors that rows are mixed by; GGUF files have them as one
// tensor.
func rwkvMu(i int, name string) WeightSpec {
	return WeightSpec{
		ID: "rwkv_x_" + name, Shape: "d", HF: []Origin{{Name: hfLayer + "attn.x_" + name, Of: "1,1,d"}},
		GGUF: []Origin{{Name: ggufLayer + "time_mix_lerp_fused.weight", Of: "6,1,1,d", Rows: [2]string{fmt.Sprintf("%d*d", i), fmt.Sprintf("%d*d", i+1)}}},
	}
}

// rwkvBias is a norm's bias, which some files lack.
func rwkvBias(id, hf, gguf string) WeightSpec {
	return bias(id, "d", "rwkv.norm_bias", hf, gguf)
}

var rwkvWeights = WeightMap{
	matrix("token_embd", "V,d", "{p}embeddings", "token_embd"),
	norm("embed_norm", "d", "{p}layers.0.pre_norm", "token_embd_norm"),
	rwkvBias("embed_norm_bias", "{p}layers.0.pre_norm", "token_embd_norm"),
	norm("output_norm", "d", "{p}norm", "output_norm"),
	rwkvBias("output_norm_bias", "{p}norm", "output_norm"),
	matrix("output", "V,d", "{q}lm_head", "output"),
	norm("attn_norm", "d", hfLayer+"attn_norm", ggufLayer+"attn_norm"),
	rwkvBias("attn_norm_bias", hfLayer+"attn_norm", ggufLayer+"attn_norm"),
	rwkvMu(0, "r"), rwkvMu(1, "w"), rwkvMu(2, "k"), rwkvMu(3, "v"), rwkvMu(4, "a"), rwkvMu(5, "g"),
	matrix("rwkv_r", "d,d", hfLayer+"attn.r_proj", ggufLayer+"time_mix_receptance"),
	matrix("rwkv_k", "d,d", hfLayer+"attn.k_proj", ggufLayer+"time_mix_key"),
	matrix("rwkv_v", "d,d", hfLayer+"attn.v_proj", ggufLayer+"time_mix_value"),
	matrix("rwkv_o", "d,d", hfLayer+"attn.o_proj", ggufLayer+"time_mix_output"),
	matrix("rwkv_w1", "rwkv.decay,d", hfLayer+"attn.w_lora.lora.0", ggufLayer+"time_mix_w1"),
	matrix("rwkv_w2", "d,rwkv.decay", hfLayer+"attn.w_lora.lora.2", ggufLayer+"time_mix_w2"),
	rwkvVector("rwkv_w0", hfLayer+"attn.w_lora.lora.2.bias", "time_mix_w0"),
	matrix("rwkv_a1", "rwkv.rate,d", hfLayer+"attn.a_lora.lora.0", ggufLayer+"time_mix_a1"),
	matrix("rwkv_a2", "d,rwkv.rate", hfLayer+"attn.a_lora.lora.2", ggufLayer+"time_mix_a2"),
	rwkvVector("rwkv_a0", hfLayer+"attn.a_lora.lora.2.bias", "time_mix_a0"),
	matrix("rwkv_v1", "rwkv.value,d", hfLayer+"attn.v_lora.lora.0", ggufLayer+"time_mix_v1"),
	matrix("rwkv_v2", "d,rwkv.value", hfLayer+"attn.v_lora.lora.2", ggufLayer+"time_mix_v2"),
	rwkvVector("rwkv_v0", hfLayer+"attn.v_lora.lora.2.bias", "time_mix_v0"),
	matrix("rwkv_g1", "rwkv.gate,d", hfLayer+"attn.g_lora.lora.0", ggufLayer+"time_mix_g1"),
	matrix("rwkv_g2", "d,rwkv.gate", hfLayer+"attn.g_lora.lora.2", ggufLayer+"time_mix_g2"),
	rwkvVector("rwkv_k_k", hfLayer+"attn.k_k", "time_mix_k_k"),
	rwkvVector("rwkv_k_a", hfLayer+"attn.k_a", "time_mix_k_a"),
	{ID: "rwkv_r_k", Shape: "d", HF: []Origin{{Name: hfLayer + "attn.r_k", Of: "H,h"}}, GGUF: named(ggufLayer+"time_mix_r_k", ".weight")},
	norm("rwkv_norm", "d", hfLayer+"attn.g_norm", ggufLayer+"time_mix_ln"),
	bias("rwkv_norm_bias", "d", "", hfLayer+"attn.g_norm", ggufLayer+"time_mix_ln"),
	norm("ffn_norm", "d", hfLayer+"ffn_norm", ggufLayer+"attn_norm_2"),
	rwkvBias("ffn_norm_bias", hfLayer+"ffn_norm", ggufLayer+"attn_norm_2"),
	rwkvVector("rwkv_ffn_x", hfLayer+"ffn.x_k", "channel_mix_lerp_k"),
	matrix("rwkv_ffn_key", "I,d", hfLayer+"ffn.key", ggufLayer+"channel_mix_key"),
	matrix("rwkv_ffn_value", "d,I", hfLayer+"ffn.value", ggufLayer+"channel_mix_value"),
}

func rwkvVector(id, hf, gguf string) WeightSpec {
	return WeightSpec{ID: id, Shape: "d", HF: named(hf, ""), GGUF: named(ggufLayer+gguf, ".weight")}
}

// rwkv7 is RWKV-7 "Goose", in the form of the flash-linear-attention library.
var rwkv7 = Family{
	ID: "rwkv7", ModelTypes: []string{"rwkv7"},
	Arch: "rwkv7", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 24, Heads: 32, HeadDim: 64, FFN: 0, Vocab: 32000, Context: 2048,
		NormEps: 1e-5, Theta: 1e4, Act: "relu2", QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		if act := o.Text("act", "sqrelu", "hidden_act"); act != "sqrelu" && act != "relu2" {
			o.Bad("hidden_act", "sqrelu", act)
		}
		c.Act = "relu2"
		if !o.Bool("norm_first", true, "norm_first") {
			o.Bad("norm_first", "true", false)
		}
		if v := o.M["attn"]; v != nil {
			o.Bad("attn", "no layers that attend", v)
		}
		if c.FFN == 0 {
			const unit = 32
			c.FFN = (int(float64(c.Hidden)*float64(o.Float("ffn_ratio", 4, "hidden_ratio"))) + unit - 1) / unit * unit
			o.Prov["ffn"] = "derived"
		}
		m := &c.RWKV
		m.DecayRank = o.Int("decay_rank", 64, maxWidth, "decay_low_rank_dim")
		m.GateRank = o.Int("gate_rank", 128, maxWidth, "gate_low_rank_dim")
		m.RateRank = o.Int("rate_rank", 64, maxWidth, "a_low_rank_dim")
		m.ValueRank = o.Int("value_rank", 16, maxWidth, "v_low_rank_dim")
		c.setRWKV()
	},
	GGUF: func(h *header, c *Config) {
		c.NormEps = h.float("norm_eps", 1e-5, "attention.layer_norm_epsilon")
		c.HeadDim = h.int("head_dim", 64, maxHead, "wkv.head_size")
		m := &c.RWKV
		m.DecayRank = h.int("decay_rank", 0, maxWidth, "attention.decay_lora_rank")
		m.RateRank = h.int("rate_rank", 0, maxWidth, "attention.iclr_lora_rank")
		m.ValueRank = h.int("value_rank", 0, maxWidth, "attention.value_residual_mix_lora_rank")
		m.GateRank = h.int("gate_rank", 0, maxWidth, "attention.gate_lora_rank")
		c.setRWKV()
	},
	Prologue: rwkvPrelude, Mixers: rwkvMixers, FFNs: rwkvFFNs, Epilogue: rwkvHead, Weights: rwkvWeights,
}
