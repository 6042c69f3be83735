package compile

import "math"

// deepseekWeights adds mixtures with a shared expert to latent attention.
var deepseekWeights = latentWeights.with(experts("mlp", "gate_proj", "up_proj", "down_proj")...).with(sharedExpert("mlp.shared_experts")...)

// readSparse reads the mixtures of DeepSeek's models: in all layers but the first.
func (o *object) readSparse(c *Config, def Mixture, shared, dense int) {
	m := &c.Mixture
	*m = def
	m.Experts = o.Int("experts", def.Experts, maxExpert, "n_routed_experts", "num_experts", "num_local_experts")
	m.TopK = o.Int("experts_used", def.TopK, maxExpert, "num_experts_per_tok")
	m.Width = o.Int("expert_width", def.Width, maxWidth, "moe_intermediate_size")
	m.Shared = m.Width * o.Int("shared_experts", shared, maxExpert, "n_shared_experts")
	m.Groups = o.Int("expert_groups", def.Groups, maxGroupsOf, "n_group")
	m.TopGroups = o.Int("expert_groups_used", def.TopGroups, maxGroupsOf, "topk_group")
	m.Scale = o.Float("expert_scale", float64(def.Scale), "routed_scaling_factor")
	first := o.Int("dense_layers", dense, maxLayers, "first_k_dense_replace")
	every := o.Int("sparse_step", 1, maxLayers, "moe_layer_freq")
	for i := range c.Layers {
		if m.Experts > 0 && i >= first && every > 0 && i%every == 0 {
			c.Layers[i].FFN = ffnMoE
		}
	}
}

// deepseek2 has a softmax router and, in the large models, groups of experts that
// are as good as their best. Its attention needs the square of yarn's mscale, which
// some releases of the reference omit (arXiv 2405.04434, remote code of the models).
var deepseek2 = Family{
	ID: "deepseek_v2", ModelTypes: []string{"deepseek_v2"},
	Arch:     "deepseek2",
	Defaults: deepseek2Defaults,
	HF: func(o *object, c *Config) {
		o.readLatent(c, &deepseek2Defaults, Latent{QRank: 1536, KVRank: 512, Nope: 128, Rope: 64, V: 128, Interleaved: true})
		o.readSparse(c, Mixture{Experts: 64, Width: 1407, Scale: 1, SharedPlain: true}, 2, 0)
		switch how := o.Text("expert_choice", "greedy", "topk_method"); how {
		case "greedy":
			c.Mixture.Groups = 0
		case "group_limited_greedy":
		default:
			o.Bad("topk_method", "greedy or group_limited_greedy", how)
		}
	},
	Prologue: embedText, Mixers: latentMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: deepseekWeights,
}

var deepseek2Defaults = Defaults{
	Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 102400, Context: 2048,
	NormEps: 1e-6, Theta: 1e4, Act: "silu",
}

// deepseek3 is also R1 and Kimi K2: a router of sigmoids, chosen with a learned
// bias, from the groups whose two best experts are best. It reads the GGUF files of
// all DeepSeek's models; those of the second say that their router is a softmax.
var deepseek3 = Family{
	ID: "deepseek_v3", ModelTypes: []string{"deepseek_v3", "kimi_k2"},
	Arch: "deepseek2", ReadsArch: true,
	Defaults: deepseek3Defaults,
	HF: func(o *object, c *Config) {
		o.readLatent(c, &deepseek3Defaults, Latent{QRank: 1536, KVRank: 512, Nope: 128, Rope: 64, V: 128, Interleaved: true})
		o.readSparse(c, Mixture{
			Experts: 256, TopK: 8, Width: 2048, Groups: 8, TopGroups: 4, Scale: 2.5,
			Gate: gateSigmoid, SelectBias: true, PairScore: true, RenormEps: 1e-20, SharedPlain: true,
		}, 1, 3)
		c.Mixture.Renorm = o.Bool("expert_renorm", true, "norm_topk_prob")
		c.Later = o.Int("later_layers", 1, maxLayers, "num_nextn_predict_layers")
	},
	GGUF: func(h *header, c *Config) {
		h.readLatent(c, true)
		if m := &c.Mixture; c.hasMixture() {
			m.SharedPlain = true
			if m.Gate == gateSigmoid {
				m.RenormEps = 1e-20
			}
		}
	},
	Prologue: embedText, Mixers: latentMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: deepseekWeights,
}

var deepseek3Defaults = Defaults{
	Hidden: 7168, Layers: 61, Heads: 128, FFN: 18432, Vocab: 129280, Context: 4096,
	NormEps: 1e-6, Theta: 1e4, Act: "silu", FFNBias: Absent,
}

// youtu is latent attention with dense feed-forward layers.
var youtu = Family{
	ID: "youtu", ModelTypes: []string{"youtu"},
	Arch:     "deepseek2",
	Defaults: youtuDefaults,
	HF: func(o *object, c *Config) {
		o.readLatent(c, &youtuDefaults, Latent{QRank: 1536, KVRank: 512, Nope: 128, Rope: 64, V: 128, Interleaved: true})
	},
	Prologue: embedText, Mixers: latentMixers, FFNs: preFFNs, Epilogue: headText, Weights: latentWeights,
}

var youtuDefaults = Defaults{
	Hidden: 2048, Layers: 32, Heads: 16, FFN: 6144, Vocab: 128256, Context: 131072,
	NormEps: 1e-6, Theta: 1e4, Act: "silu", Tied: true, FFNBias: Absent,
}

// miniCPM3 also scales embeddings, branches and the head, and pairs the halves of
// rotated elements.
var miniCPM3 = Family{
	ID: "minicpm3", ModelTypes: []string{"minicpm3"},
	Arch: "minicpm3", ReadsArch: true, LatentHeads: true,
	Defaults: miniCPM3Defaults,
	HF: func(o *object, c *Config) {
		o.readLatent(c, &miniCPM3Defaults, Latent{QRank: 768, KVRank: 256, Nope: 64, Rope: 32})
		c.EmbedMul = o.Float("embed_mul", 12, "scale_emb")
		depth, base := 1.4, 256
		if v, there := o.M["scale_depth"]; there && v == nil {
			depth = math.Sqrt(float64(len(c.Layers)))
		}
		c.BranchMul = float32(float64(o.Float("branch_mul", depth, "scale_depth")) / math.Sqrt(float64(len(c.Layers))))
		if base = o.Int("logit_mul", base, maxWidth, "dim_model_base"); base == 0 {
			base = c.Hidden
		}
		c.LogitMul = float32(float64(base) / float64(c.Hidden))
	},
	GGUF: func(h *header, c *Config) {
		h.readLatent(c, false)
		if !h.has("embedding_scale") { // files of llama.cpp state none: its code has them
			c.EmbedMul = 12
		}
		if !h.has("residual_scale") {
			c.BranchMul = float32(1.4 / math.Sqrt(float64(len(c.Layers))))
		}
		c.LogitMul = 256 / float32(c.Hidden)
		if h.has("logit_scale") {
			c.LogitMul = 1 / h.float("logit_mul", 1, "logit_scale")
		}
	},
	Prologue: embedText, Mixers: latentMixers, FFNs: preFFNs, Epilogue: headText, Weights: miniCPM3Weights,
}

var miniCPM3Defaults = Defaults{
	Hidden: 2560, Layers: 62, Heads: 40, FFN: 6400, Vocab: 73448, Context: 32768,
	NormEps: 1e-5, Theta: 1e4, Act: "silu", Tied: true,
}

// miniCPM3Weights has the projection of keys and values whole, as GGUF files of this
// architecture do.
var miniCPM3Weights = func() WeightMap {
	var parts []WeightSpec
	for _, s := range latentWeights {
		if s.ID == "mla_k_b" || s.ID == "mla_v_b" {
			s.GGUF = []Origin{s.GGUF[1], s.GGUF[0]}
			parts = append(parts, s)
		}
	}
	return latentWeights.with(parts...)
}()
