package compile

// llama is also yi, tinyllama, vicuna and smollm2: one network under many names.
// GGUF files of mistral and mixtral are read as llama, too.
var llama = Family{
	ID: "llama", ModelTypes: []string{"llama"},
	Arch: "llama", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 32000, Context: 2048,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", Mixture: Mixture{Renorm: true},
	},
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: mixtralWeights,
}

// mistral is llama with a window in every layer, 4096 by default.
var mistral = Family{
	ID: "mistral", ModelTypes: []string{"mistral", "ministral"},
	Arch: "llama", Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 8, FFN: 14336, Vocab: 32000, Context: 131072,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.setWindows(c, o.Int("window", 4096, maxLength, "sliding_window"), everyLayer)
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// ministral3 scales queries by position in addition to yarn.
var ministral3 = Family{
	ID: "ministral3", ModelTypes: []string{"ministral3"},
	Arch: "mistral3", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 34, Heads: 32, KVHeads: 8, HeadDim: 128, FFN: 14336, Vocab: 131072, Context: 262144,
		NormEps: 1e-5, Theta: 1e6, Act: "silu", Original: 16384, QKVBias: Absent, OutBias: Absent, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.setWindows(c, o.Int("window", 0, maxLength, "sliding_window"), everyLayer)
		r, _ := o.ropeObject("full_attention")
		if r == nil { // the class has a whole object as default
			c.addRope(RotaryTable{Name: "full", Dim: c.HeadDim, Theta: 1e6, Scaling: Yarn, Factor: 16, Original: 16384, BetaFast: 32, BetaSlow: 1, Scale: 1})
			c.TempBeta, c.TempOrig = 0.1, 16384
			return
		}
		c.TempBeta = r.Float("temp_beta", 0, "llama_4_scaling_beta")
		c.TempOrig = c.rope("full").Original
	},
	GGUF: func(h *header, c *Config) {
		c.TempBeta = h.float("temp_beta", 0, "attention.temperature_scale")
		c.TempOrig = h.int("temp_orig", 0, maxLength, "rope.scaling.original_context_length")
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// smollm3 has no positional encoding in every fourth layer, or in those listed.
var smollm3 = Family{
	ID: "smollm3", ModelTypes: []string{"smollm3"},
	Arch: "smollm3", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 36, Heads: 16, KVHeads: 4, FFN: 11008, Vocab: 128256, Context: 32768,
		NormEps: 1e-6, Theta: 2e6, Act: "silu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		every := o.Int("no_rope_interval", 4, maxLayers, "no_rope_layer_interval")
		has, listed := o.flags("ropes", "no_rope_layers") // despite its name, 1 means rope
		if listed && len(has) != len(c.Layers) {
			o.Bad("no_rope_layers", "one flag for each layer", len(has))
			return
		}
		for i := range c.Layers {
			if listed && !has[i] || !listed && every > 0 && (i+1)%every == 0 {
				c.Layers[i].Rope = ""
			}
		}
		window := o.Int("window", 0, maxLength, "sliding_window")
		if !o.Bool("use_window", false, "use_sliding_window") {
			window = 0
		}
		o.setWindows(c, window, func(i int) bool { return c.Layers[i].Rope == "" })
	},
	GGUF: func(_ *header, c *Config) {
		for i := range c.Layers { // the format has no key; ours, if present, is read later
			if (i+1)%4 == 0 {
				c.Layers[i].Rope = ""
			}
		}
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}
