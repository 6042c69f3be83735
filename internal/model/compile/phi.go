package compile

// phi3 is also phi-4 and phi-4-mini: llama with fused projections, longrope and,
// in the mini, partly rotated heads. The original phi-1 and phi-2 are a
// different network.
var phi3 = Family{
	ID: "phi3", ModelTypes: []string{"phi3"},
	Arch: "phi3", ReadsArch: true, StatesWindow: true,
	Defaults: Defaults{
		Hidden: 3072, Layers: 32, Heads: 32, FFN: 8192, Vocab: 32064, Context: 4096, Original: 4096,
		NormEps: 1e-5, Theta: 1e4, Act: "silu", QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.setWindows(c, o.Int("window", 0, maxLength, "sliding_window"), everyLayer)
	},
	GGUF: func(h *header, c *Config) {
		window := h.int("window", 0, maxLength, "attention.sliding_window")
		for i := range c.Layers {
			c.Layers[i].Window = window
		}
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText,
	Weights: llamaWeights.with(
		slice("attn_q", "H*h,d", phiQKV, "0", "H*h", hfLayer+"self_attn.qkv_proj", ggufLayer+"attn_qkv"),
		slice("attn_k", "K*h,d", phiQKV, "H*h", "H*h+K*h", hfLayer+"self_attn.qkv_proj", ggufLayer+"attn_qkv"),
		slice("attn_v", "K*h,d", phiQKV, "H*h+K*h", "H*h+2*K*h", hfLayer+"self_attn.qkv_proj", ggufLayer+"attn_qkv"),
		slice("ffn_gate", "I,d", "2*I,d", "0", "I", hfLayer+"mlp.gate_up_proj", ggufLayer+"ffn_up"),
		slice("ffn_up", "I,d", "2*I,d", "I", "2*I", hfLayer+"mlp.gate_up_proj", ggufLayer+"ffn_up"),
	),
}

const phiQKV = "H*h+2*K*h,d"
