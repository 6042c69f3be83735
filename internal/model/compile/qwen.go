package compile

// qwen2 always has biases on q, k and v and, if enabled, windows from a given
// layer on.
var qwen2 = Family{
	ID: "qwen2", ModelTypes: []string{"qwen2"},
	Arch: "qwen2", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 32, FFN: 22016, Vocab: 151936, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", QKVBias: Present, OutBias: Absent, FFNBias: Absent,
	},
	HF:       qwenWindows,
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// qwen3 normalizes each head of q and k instead.
var qwen3 = Family{
	ID: "qwen3", ModelTypes: []string{"qwen3"},
	Arch: "qwen3", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 32, HeadDim: 128, FFN: 22016, Vocab: 151936, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", QKNorm: true, FFNBias: Absent,
	},
	HF:       qwenWindows,
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

func qwenWindows(o *object, c *Config) {
	window := o.Int("window", 4096, maxLength, "sliding_window")
	if !o.Bool("use_window", false, "use_sliding_window") {
		window = 0
	}
	from := o.Int("window_from", 28, maxLayers, "max_window_layers")
	o.setWindows(c, window, func(i int) bool { return i >= from })
}
