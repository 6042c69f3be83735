package compile

import (
	"fmt"

	"atenia/internal/plan"
)

// nemotronH has layers of one part each: a scan, an attention without positions, or a
// feed-forward layer without a gate.
var nemotronH = Family{
	ID: "nemotron_h", ModelTypes: []string{"nemotron_h"},
	Arch: "nemotron_h", ReadsArch: true, KVByLayer: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 52, Heads: 32, KVHeads: 8, HeadDim: 128, FFN: 21504, Vocab: 131072, Context: 4096,
		NormEps: 1e-5, Theta: 1e4, Act: "relu2", QKVBias: Absent, OutBias: Absent, // whatever attention_bias says
	},
	HF: func(o *object, c *Config) {
		act := o.Text("act", "relu2", "mlp_hidden_act")
		if c.Act = actAliases[act]; c.Act == "" {
			o.Bad("mlp_hidden_act", "a known activation", act)
		}
		if act := o.Text("scan.act", "silu", "mamba_hidden_act"); act != "silu" {
			o.Bad("mamba_hidden_act", "silu", act)
		}
		c.Ungated = true
		s := &c.Scan
		s.Heads = o.Int("scan.heads", 128, maxHeads, "mamba_num_heads")
		s.Inner = s.Heads * o.Int("scan.head_dim", 64, maxHead, "mamba_head_dim")
		s.State = o.Int("scan.state", 128, maxHead, "ssm_state_size")
		s.Groups = o.Int("scan.groups", 8, maxHeads, "n_groups")
		s.Conv = o.Int("scan.conv", 4, maxTaps, "conv_kernel")
		s.Chunk = o.chunk("chunk_size", "mamba_chunk_size")
		s.ConvBias = presentIf(o.Bool("scan.conv_bias", true, "use_conv_bias", "mamba_conv_bias"))
		s.ProjBias = presentIf(o.Bool("scan.bias", false, "use_bias"))
		s.NormEps = c.NormEps
		s.DtMin = o.Float("scan.least", 0.001, "time_step_min") // the class bounds steps by it, and not by time_step_limit
		o.nemotronLayers(c)
	},
	GGUF: func(h *header, c *Config) {
		c.Ungated = true
		for i := range c.Layers {
			l := &c.Layers[i]
			*l = Layer{Mixer: mixMamba2, FFN: ffnNone}
			switch {
			case i < len(h.kv) && h.kv[i] > 0:
				l.Mixer = mixAttention
			case i < len(h.ffn) && h.ffn[i] > 0:
				*l = Layer{Mixer: mixNone, FFN: ffnDense}
			}
		}
		h.readScan(c)
	},
	Prologue: embedText,
	Mixers:   map[string]plan.Program{mixAttention: attention, mixMamba2: scan2, mixNone: {}},
	FFNs: map[string]plan.Program{ffnNone: {}, ffnDense: {
		dense[0],
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: w{"up": "ffn_up", "down": "ffn_down", "up_bias": "ffn_up_bias", "down_bias": "ffn_down_bias"}, Tag: "ffn"},
		dense[2],
	}},
	Epilogue: headText,
	Weights: llamaWeights.with(scanWeights(hfMixer)...).with(backbone...).with(
		matrix("attn_q", "H*h,d", hfMixer+"q_proj", ggufLayer+"attn_q"),
		matrix("attn_k", "K*h,d", hfMixer+"k_proj", ggufLayer+"attn_k"),
		matrix("attn_v", "K*h,d", hfMixer+"v_proj", ggufLayer+"attn_v"),
		matrix("attn_o", "d,H*h", hfMixer+"o_proj", ggufLayer+"attn_output"),
		norm("ffn_norm", "d", hfLayer+"norm", ggufLayer+"attn_norm"),
		matrix("ffn_up", "I,d", hfMixer+"up_proj", ggufLayer+"ffn_up"),
		matrix("ffn_down", "d,I", hfMixer+"down_proj", ggufLayer+"ffn_down"),
		bias("ffn_up_bias", "I", "ffn_bias", hfMixer+"up_proj", ggufLayer+"ffn_up"),
		bias("ffn_down_bias", "d", "ffn_bias", hfMixer+"down_proj", ggufLayer+"ffn_down"),
	),
}

// nemotronLayers reads what each layer is, as a list or as a text with a letter for
// each.
func (o *object) nemotronLayers(c *Config) {
	kinds := map[string]Layer{
		"M": {Mixer: mixMamba2, FFN: ffnNone}, "*": {Mixer: mixAttention, FFN: ffnNone}, "-": {Mixer: mixNone, FFN: ffnDense},
	}
	kinds["mamba"], kinds["linear_attention"] = kinds["M"], kinds["M"]
	kinds["attention"], kinds["full_attention"], kinds["mlp"] = kinds["*"], kinds["*"], kinds["-"]
	key := "layers_block_type"
	names, listed := o.Strings("layer_types", key)
	if !listed {
		if names, listed = o.Strings("layer_types", "layer_types"); listed {
			key = "layer_types"
		}
	}
	if !listed {
		key = "hybrid_override_pattern"
		for _, r := range o.Text("layer_types", "", key) {
			names = append(names, string(r))
		}
	}
	if len(names) > maxLayers {
		o.Bad(key, fmt.Sprintf("at most %d layers", maxLayers), len(names))
		return
	}
	c.Layers = make([]Layer, len(names))
	for i, n := range names {
		l, ok := kinds[n]
		if !ok {
			o.Bad(fmt.Sprintf("%s[%d]", key, i), "a scan, an attention or a feed-forward layer", n)
			return
		}
		c.Layers[i] = l
	}
}
