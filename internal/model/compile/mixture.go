package compile

import (
	"fmt"
	"slices"
)

// A Mixture is a router and its experts: for each token the TopK experts with
// the largest softmax and, in some models, a shared expert, with a gate, that
// sees every token.
type Mixture struct {
	Experts, TopK int
	Width         int  // hidden width of an expert
	Shared        int  `json:",omitempty"` // of the shared expert; 0 = none
	Renorm        bool `json:",omitempty"` // weights of the selected experts are divided by their sum
}

func (c *Config) hasMixture() bool {
	for _, l := range c.Layers {
		if l.FFN == ffnMoE {
			return true
		}
	}
	return false
}

func (m *Mixture) check(bad func(field, want string, got any)) {
	for _, x := range []struct {
		field         string
		got, min, max int
	}{
		{"experts", m.Experts, 1, maxExpert}, {"experts per token", m.TopK, 1, max(1, m.Experts)},
		{"width of experts", m.Width, 1, maxWidth}, {"width of the shared expert", m.Shared, 0, maxWidth},
	} {
		if x.got < x.min || x.got > x.max {
			bad(x.field, fmt.Sprintf("%d to %d", x.min, x.max), x.got)
		}
	}
	if m.Experts*m.Width > maxVocab {
		bad("experts", fmt.Sprintf("at most %d rows of all experts", maxVocab), m.Experts*m.Width)
	}
}

// readMixture reads the keys of qwen's mixtures and sets which layers are
// mixtures.
func (o *object) readMixture(c *Config, def Mixture) {
	m := &c.Mixture
	m.Experts = o.Int("experts", def.Experts, maxExpert, "num_experts", "num_local_experts")
	m.TopK = o.Int("experts_used", def.TopK, maxExpert, "num_experts_per_tok")
	m.Width = o.Int("expert_width", def.Width, maxWidth, "moe_intermediate_size")
	m.Renorm = o.Bool("expert_renorm", def.Renorm, "norm_topk_prob")
	if def.Shared > 0 {
		m.Shared = o.Int("shared_width", def.Shared, maxWidth, "shared_expert_intermediate_size")
	}
	step := o.Int("sparse_step", 1, maxLayers, "decoder_sparse_step")
	dense := o.Floats("dense_layers", "mlp_only_layers")
	for i := range c.Layers {
		if m.Experts > 0 && step > 0 && (i+1)%step == 0 && !slices.Contains(dense, float32(i)) {
			c.Layers[i].FFN = ffnMoE
		}
	}
	if !c.hasMixture() {
		*m = Mixture{}
	}
}

// readMixture reads the keys of a GGUF file. A layer is a mixture if it has a
// router.
func (h *header) readMixture(c *Config, fam *Family) error {
	m, def := &c.Mixture, &fam.Defaults.Mixture
	m.Experts = h.int("experts", 0, maxExpert, "expert_count")
	if m.Experts == 0 {
		delete(h.prov, "experts")
		return nil
	}
	if fam.FFNs[ffnMoE] == nil {
		return &UnsupportedModelError{Key: "expert_count", Name: fmt.Sprint(m.Experts), Why: needsMoE, Supported: []string{"0"}}
	}
	m.TopK = h.int("experts_used", 0, maxExpert, "expert_used_count")
	m.Width = h.int("expert_width", c.FFN, maxWidth, "expert_feed_forward_length")
	if def.Shared > 0 {
		m.Shared = h.int("shared_width", 0, maxWidth, "expert_shared_feed_forward_length")
	}
	m.Renorm = h.int("expert_renorm", int(toFlag(def.Renorm)), 1, ownRenorm) != 0
	for i := range c.Layers {
		if _, routes := h.tensors[fmt.Sprintf("blk.%d.ffn_gate_inp.weight", i)]; routes || len(h.tensors) == 0 {
			c.Layers[i].FFN = ffnMoE
		}
	}
	if !c.hasMixture() {
		*m = Mixture{}
	}
	return nil
}

// keys calls put with the GGUF keys of a mixture. Widths are written if they are
// not derived.
func (m *Mixture) keys(put func(key string, v int)) {
	put("expert_count", m.Experts)
	put("expert_used_count", m.TopK)
	put("expert_feed_forward_length", m.Width)
	if m.Shared > 0 {
		put("expert_shared_feed_forward_length", m.Shared)
	}
}

// experts returns the weights of a mixture whose Hugging Face tensors are under
// hf, with the names gate, up and down for an expert's projections. GGUF stores
// all experts in one three-dimensional tensor.
func experts(hf, gate, up, down string) []WeightSpec {
	all := func(id, shape, in3, hfName string) WeightSpec {
		return WeightSpec{ID: id, Shape: shape,
			HF:   named(hfLayer+hf+".experts.{e}."+hfName, ".weight"),
			GGUF: []Origin{{Name: ggufLayer + id + ".weight", Of: in3}}}
	}
	return append([]WeightSpec{
		matrix("ffn_router", "E,d", hfLayer+hf+".gate", ggufLayer+"ffn_gate_inp"),
		all("ffn_gate_exps", "E*F,d", "E,F,d", gate),
		all("ffn_up_exps", "E*F,d", "E,F,d", up),
		all("ffn_down_exps", "E*d,F", "E,d,F", down),
	}, shared...)
}

// shared is the weights of a shared expert with its gate.
var shared = []WeightSpec{
	matrix("ffn_gate_shexp", "S,d", hfLayer+"mlp.shared_expert.gate_proj", ggufLayer+"ffn_gate_shexp").when("shared"),
	matrix("ffn_up_shexp", "S,d", hfLayer+"mlp.shared_expert.up_proj", ggufLayer+"ffn_up_shexp").when("shared"),
	matrix("ffn_down_shexp", "d,S", hfLayer+"mlp.shared_expert.down_proj", ggufLayer+"ffn_down_shexp").when("shared"),
	matrix("ffn_router_shexp", "1,d", hfLayer+"mlp.shared_expert_gate", ggufLayer+"ffn_gate_inp_shexp").when("shared"),
}

var (
	mixtralWeights = llamaWeights.with(experts("block_sparse_moe", "w1", "w3", "w2")...)
	qwenMoEWeights = llamaWeights.with(experts("mlp", "gate_proj", "up_proj", "down_proj")...)
)

// mixtral is mistral with experts as wide as its feed-forward layer. Its GGUF
// files are read as llama.
var mixtral = Family{
	ID: "mixtral", ModelTypes: []string{"mixtral"},
	Arch: "llama", Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 8, FFN: 14336, Vocab: 32000, Context: 131072,
		NormEps: 1e-5, Theta: 1e6, Act: "silu", QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.setWindows(c, o.Int("window", 0, maxLength, "sliding_window"), everyLayer)
		o.readMixture(c, Mixture{Experts: 8, TopK: 2, Width: c.FFN, Renorm: true})
	},
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: mixtralWeights,
}

// qwen3MoE is qwen3 in which all or some feed-forward layers are mixtures.
var qwen3MoE = Family{
	ID: "qwen3_moe", ModelTypes: []string{"qwen3_moe"},
	Arch: "qwen3moe", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 24, Heads: 32, KVHeads: 4, FFN: 6144, Vocab: 151936, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", QKNorm: true, FFNBias: Absent,
		Mixture: Mixture{Renorm: true},
	},
	HF: func(o *object, c *Config) {
		mixtureWindow(o, c)
		o.readMixture(c, Mixture{Experts: 128, TopK: 8, Width: 768})
	},
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: qwenMoEWeights,
}

// qwen2MoE is qwen2 with mixtures and a shared expert.
var qwen2MoE = Family{
	ID: "qwen2_moe", ModelTypes: []string{"qwen2_moe"},
	Arch: "qwen2moe", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 24, Heads: 16, KVHeads: 16, FFN: 5632, Vocab: 151936, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", QKVBias: Present, OutBias: Absent, FFNBias: Absent,
		Mixture: Mixture{Shared: 5632},
	},
	HF: func(o *object, c *Config) {
		mixtureWindow(o, c)
		o.readMixture(c, Mixture{Experts: 60, TopK: 4, Width: 1408, Shared: 5632})
		if !o.Bool("qkv_bias", true, "qkv_bias") {
			c.QKVBias = Absent
		}
	},
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: qwenMoEWeights,
}

// mixtureWindow reads the window of qwen's mixtures, the same in every layer.
func mixtureWindow(o *object, c *Config) {
	window := o.Int("window", 4096, maxLength, "sliding_window")
	if !o.Bool("use_window", false, "use_sliding_window") {
		window = 0
	}
	o.setWindows(c, window, everyLayer)
}
