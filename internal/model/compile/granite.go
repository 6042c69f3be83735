package compile

// granite is llama with four multipliers.
var granite = Family{
	ID: "granite", ModelTypes: []string{"granite"},
	Arch: "granite", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 32000, Context: 2048,
		NormEps: 1e-6, Theta: 1e4, Act: "silu",
	},
	HF:       graniteScales,
	GGUF:     graniteLogits,
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// graniteScales reads the multipliers.
func graniteScales(o *object, c *Config) {
	c.EmbedMul = o.Float("embed_mul", 1, "embedding_multiplier")
	c.BranchMul = o.Float("branch_mul", 1, "residual_multiplier")
	c.AttnScale = o.Float("attn_scale", 1, "attention_multiplier")
	c.LogitMul = 1 / o.Float("logit_mul", 1, "logits_scaling")
}

// graniteLogits reads the multiplier that GGUF states as a divisor.
func graniteLogits(h *header, c *Config) {
	c.LogitMul = 1 / h.float("logit_mul", 1, "logit_scale")
}
