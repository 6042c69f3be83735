package compile

import (
	"fmt"
	"math"
	"slices"

	"atenia/internal/plan"
)

// A Mixture is a router and its experts: for each token the TopK experts with
// the largest scores and, in some models, a shared expert that sees every token.
type Mixture struct {
	Experts, TopK int
	Width         int  // hidden width of an expert
	Shared        int  `json:",omitempty"` // of the shared expert; 0 = none
	SharedPlain   bool `json:",omitempty"` // the shared expert has no gate
	Renorm        bool `json:",omitempty"` // weights of the selected experts are divided by their sum

	Gate       string  `json:",omitempty"` // what logits become scores by: see gates; "" = softmax
	SelectBias bool    `json:",omitempty"` // experts are chosen by score plus a learned bias, which weights do not have
	Groups     int     `json:",omitempty"` // experts are in this many groups, of which the best TopGroups take part; 0 = one
	TopGroups  int     `json:",omitempty"`
	PairScore  bool    `json:",omitempty"` // a group is as good as its two best experts together, not as its best
	MaskZero   bool    `json:",omitempty"` // experts of other groups score 0, not −∞: one may win against a score plus bias below 0
	RenormEps  float32 `json:",omitempty"` // added to the sum that weights are divided by
	Scale      float32 `json:",omitempty"` // multiplies weights; 0 = 1
	Jitter     float32 `json:",omitempty"` // sparsemixer: share below the best score that takes part in its softmax
	RouterBias bool    `json:",omitempty"`
	ExpertBias bool    `json:",omitempty"` // each projection of an expert has a bias
	Limit      float32 `json:",omitempty"` // swiglu_oai: bound of gate and up
	Alpha      float32 `json:",omitempty"` // swiglu_oai: of the sigmoid
}

// gates maps the kinds of gates to the numbers in plans.
var gates = map[string]uint32{
	"": plan.GateSoftmax, gateTop: plan.GateTop, gateSigmoid: plan.GateSigmoid, gateSparse: plan.GateSparse,
}

// Kinds of gates besides the softmax over all experts.
const (
	gateTop     = "top"         // softmax over the chosen
	gateSigmoid = "sigmoid"     // of each expert by itself
	gateSparse  = "sparsemixer" // the best twice, each by a softmax of those nearly as good (arXiv 2409.12136)
)

// params returns the payload of a mixture.
func (m *Mixture) params(c *Config) *plan.MoEParams {
	p := &plan.MoEParams{
		Dim: uint32(c.Hidden), Hidden: uint32(m.Width), Experts: uint32(m.Experts), TopK: uint32(m.TopK),
		Gate: gates[m.Gate], Renorm: toFlag(m.Renorm), RenormEps: m.RenormEps, Scale: m.Scale,
		SharedHidden: uint32(m.Shared), SharedGated: toFlag(m.Shared > 0 && !m.SharedPlain),
		Act: acts[c.Act], Limit: m.Limit, Alpha: m.Alpha, Jitter: m.Jitter,
	}
	if m.Scale == 0 {
		p.Scale = 1
	}
	if m.Groups > 1 {
		p.Groups, p.TopGroups, p.GroupScore, p.Masked = uint32(m.Groups), uint32(m.TopGroups), toFlag(m.PairScore), toFlag(!m.MaskZero)
	}
	return p
}

func (c *Config) hasMixture() bool { return c.mixtures() > 0 }

// mixtures counts the layers that are one.
func (c *Config) mixtures() (n int) {
	for _, l := range c.Layers {
		if l.FFN == ffnMoE {
			n++
		}
	}
	return n
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
	if _, ok := gates[m.Gate]; !ok {
		bad("gate of experts", "a kind of gate", fmt.Sprintf("%q", m.Gate))
	}
	if m.Gate == gateSparse && m.TopK != 2 {
		bad("experts per token", "2 with sparsemixer", m.TopK)
	}
	if g := m.Groups; g != 0 {
		switch {
		case g < 0 || g > maxGroupsOf || g > max(1, m.Experts) || m.Experts%g != 0:
			bad("groups of experts", fmt.Sprintf("a divisor of %d experts, at most %d", m.Experts, maxGroupsOf), g)
		case m.TopGroups < 1 || m.TopGroups > g:
			bad("chosen groups of experts", fmt.Sprintf("1 to %d", g), m.TopGroups)
		case !m.MaskZero && m.TopGroups*(m.Experts/g) < m.TopK:
			bad("experts per token", fmt.Sprintf("at most the %d of the chosen groups", m.TopGroups*(m.Experts/g)), m.TopK)
		case m.PairScore && m.Experts/g < 2:
			bad("groups of experts", "at least two experts in each", m.Experts/g)
		}
	}
	for _, x := range []struct {
		field string
		v     float32
	}{{"scale of experts", m.Scale}, {"epsilon of experts", m.RenormEps}, {"jitter of the router", m.Jitter}, {"limit of experts", m.Limit}, {"slope of experts", m.Alpha}} {
		if !(x.v >= 0 && x.v < 1e30) {
			bad(x.field, "a number, 0 or above", x.v)
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
	*m = def
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
}

// readMixture reads the keys of a GGUF file. A layer is a mixture if it has a
// router.
func (h *header) readMixture(c *Config, fam *Family) error {
	m, def := &c.Mixture, &fam.Defaults.Mixture
	m.Experts = h.int("experts", 0, maxExpert, "expert_count")
	if m.Experts == 0 {
		delete(h.prov, "experts")
		for _, key := range []string{"expert_feed_forward_length", "expert_shared_count"} {
			h.key(key) // llama.cpp's programs write them also where nothing routes
		}
		return nil
	}
	if fam.FFNs[ffnMoE] == nil {
		return &UnsupportedModelError{Key: "expert_count", Name: fmt.Sprint(m.Experts), Why: needsMoE, Supported: []string{"0"}}
	}
	experts := m.Experts
	*m = *def // what keys do not say
	m.Experts = experts
	m.TopK = h.int("experts_used", 0, maxExpert, "expert_used_count")
	m.Width = h.int("expert_width", c.FFN, maxWidth, "expert_feed_forward_length")
	m.Shared = h.int("shared_width", 0, maxWidth, "expert_shared_feed_forward_length")
	if n := h.int("shared_experts", 0, maxExpert, "expert_shared_count"); m.Shared == 0 {
		m.Shared = n * m.Width
	}
	switch kind := h.int("expert_gate", 0, math.MaxInt32, "expert_gating_func"); kind {
	case 0:
	case 1:
		m.Gate = ""
	case 2:
		m.Gate = gateSigmoid
	case 3:
		m.Gate = gateTop
	default:
		h.bad("expert_gating_func", "1, 2 or 3", kind)
	}
	m.Groups = h.int("expert_groups", 0, maxGroupsOf, "expert_group_count")
	m.TopGroups = h.int("expert_groups_used", 0, maxGroupsOf, "expert_group_used_count")
	m.PairScore = m.Groups > 1 && m.Gate == gateSigmoid
	m.Scale = h.float("expert_scale", float64(m.Scale), "expert_weights_scale")
	if norm, found, err := h.meta.Bool(h.key("expert_weights_norm")); h.note("expert_renorm", "expert_weights_norm", found, err) {
		m.Renorm = norm
	}
	if h.has(ownRenorm) {
		m.Renorm = h.int("expert_renorm", 0, 1, ownRenorm) != 0
	}
	h.has(leadingDense) // layers without a router
	for i := range c.Layers {
		if _, routes := h.tensors[fmt.Sprintf("blk.%d.ffn_gate_inp.weight", i)]; routes || len(h.tensors) == 0 {
			c.Layers[i].FFN = ffnMoE
		}
		for _, x := range []struct {
			name string
			has  *bool
		}{{"exp_probs_b.bias", &m.SelectBias}, {"ffn_gate_inp.bias", &m.RouterBias}, {"ffn_up_exps.bias", &m.ExpertBias}} {
			if h.tensors[fmt.Sprintf("blk.%d.%s", i, x.name)] != nil {
				*x.has = true
			}
		}
	}
	return nil
}

// maxGroupsOf bounds the groups of a mixture's experts.
const maxGroupsOf = 1 << 10

// canonicalise clears fields without effect.
func (m *Mixture) canonicalise() {
	if m.Groups < 2 || m.TopGroups == m.Groups {
		m.Groups, m.TopGroups, m.PairScore, m.MaskZero = 0, 0, false, false
	}
	if m.Shared == 0 {
		m.SharedPlain = false
	}
	if m.Scale == 1 {
		m.Scale = 0
	}
	if !m.Renorm {
		m.RenormEps = 0
	}
}

// leadingDense is the key of the number of layers before the first that routes.
const leadingDense = "leading_dense_block_count"

// leadingDense returns how many layers precede the first that routes.
func (c *Config) leadingDense() int {
	if i := slices.IndexFunc(c.Layers, func(l Layer) bool { return l.FFN == ffnMoE }); i >= 0 {
		return i
	}
	return len(c.Layers)
}

// keys calls put with the GGUF keys of a mixture. Widths are written if they are
// not derived.
func (m *Mixture) keys(put func(key string, v int), f32 func(key string, v float32)) {
	put("expert_count", m.Experts)
	put("expert_used_count", m.TopK)
	put("expert_feed_forward_length", m.Width)
	if m.Shared > 0 {
		put("expert_shared_feed_forward_length", m.Shared)
	}
	if m.Groups > 0 {
		put("expert_group_count", m.Groups)
		put("expert_group_used_count", m.TopGroups)
	}
	if m.Scale != 0 {
		f32("expert_weights_scale", m.Scale)
	}
	switch m.Gate {
	case gateSigmoid:
		put("expert_gating_func", 2)
	case gateTop:
		put("expert_gating_func", 3)
	}
}

// experts returns the weights of a mixture whose Hugging Face tensors are under
// hf, with the names gate, up and down for an expert's projections. GGUF stores
// all experts in one three-dimensional tensor; so do Hugging Face files that were
// saved as they are in memory, gate and up in one.
func experts(hf, gate, up, down string) []WeightSpec {
	all := func(id, shape, in3, hfName string, fused Origin) WeightSpec {
		fused.Name = hfLayer + hf + ".experts." + fused.Name
		return WeightSpec{ID: id, Shape: shape,
			HF:   append(named(hfLayer+hf+".experts.{e}."+hfName, ".weight"), fused),
			GGUF: []Origin{{Name: ggufLayer + id + ".weight", Of: in3}}}
	}
	return append([]WeightSpec{
		matrix("ffn_router", "E,d", hfLayer+hf+".gate", ggufLayer+"ffn_gate_inp"),
		all("ffn_gate_exps", "E*F,d", "E,F,d", gate, Origin{Name: "gate_up_proj", Of: "E,2*F,d", Rows: [2]string{"0", "F"}, Each: "E"}),
		all("ffn_up_exps", "E*F,d", "E,F,d", up, Origin{Name: "gate_up_proj", Of: "E,2*F,d", Rows: [2]string{"F", "2*F"}, Each: "E"}),
		all("ffn_down_exps", "E*d,F", "E,d,F", down, Origin{Name: "down_proj", Of: "E,d,F"}),
		bias("ffn_router_bias", "E", "router_bias", hfLayer+hf+".gate", ggufLayer+"ffn_gate_inp"),
		{ID: "ffn_select_bias", Shape: "E", If: "select_bias",
			HF: []Origin{{Name: hfLayer + hf + ".gate.e_score_correction_bias"}}, GGUF: named(ggufLayer+"exp_probs_b", ".bias")},
		expertBias("ffn_gate_exps", "F", Origin{Name: hfLayer + hf + ".experts.gate_up_proj_bias", Of: "E,2*F", Step: [2]int{0, 2}}),
		expertBias("ffn_up_exps", "F", Origin{Name: hfLayer + hf + ".experts.gate_up_proj_bias", Of: "E,2*F", Step: [2]int{1, 2}}),
		expertBias("ffn_down_exps", "d", Origin{Name: hfLayer + hf + ".experts.down_proj_bias", Of: "E,d"}),
	}, shared...)
}

// expertBias is the biases of one projection of all experts, of width each.
func expertBias(id, width string, hf Origin) WeightSpec {
	return WeightSpec{ID: id + "_bias", Shape: "E*" + width, If: "expert_bias",
		HF: []Origin{hf}, GGUF: []Origin{{Name: ggufLayer + id + ".bias", Of: "E," + width}}}
}

// sharedExpert is the weights of a shared expert under hf.
func sharedExpert(hf string) []WeightSpec {
	return []WeightSpec{
		matrix("ffn_gate_shexp", "S,d", hfLayer+hf+".gate_proj", ggufLayer+"ffn_gate_shexp").when("shared"),
		matrix("ffn_up_shexp", "S,d", hfLayer+hf+".up_proj", ggufLayer+"ffn_up_shexp").when("shared"),
		matrix("ffn_down_shexp", "d,S", hfLayer+hf+".down_proj", ggufLayer+"ffn_down_shexp").when("shared"),
	}
}

// shared is the weights of qwen's shared expert, with its gate.
var shared = append(sharedExpert("mlp.shared_expert"),
	matrix("ffn_router_shexp", "1,d", hfLayer+"mlp.shared_expert_gate", ggufLayer+"ffn_gate_inp_shexp").when("shared_gate"))

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
