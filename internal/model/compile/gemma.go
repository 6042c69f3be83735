package compile

import (
	"math"

	"atenia/internal/model/file"
)

// The gemma families multiply embeddings by √hidden, and their Hugging Face
// files store norm weights minus one.

var gemma = Family{
	ID: "gemma", ModelTypes: []string{"gemma"},
	Arch: "gemma", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 3072, Layers: 28, Heads: 16, KVHeads: 16, HeadDim: 256, FFN: 24576, Vocab: 256000, Context: 8192,
		NormEps: 1e-6, Theta: 1e4, Act: "gelu_pytorch_tanh", Tied: true, NormPlus: 1, EmbedSqrt: true, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		// The first files say "gelu" but were trained with the tanh form;
		// hidden_activation was added later to state that.
		if o.M["hidden_activation"] == nil && o.M["hidden_act"] == "gelu" {
			c.Act = "gelu_tanh"
		}
	},
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// gemma2 normalizes branches before and after, caps scores and logits, and has a
// window in every other layer.
var gemma2 = Family{
	ID: "gemma2", ModelTypes: []string{"gemma2"},
	Arch: "gemma2", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: Defaults{
		Hidden: 2304, Layers: 26, Heads: 8, KVHeads: 4, HeadDim: 256, FFN: 9216, Vocab: 256000, Context: 8192,
		NormEps: 1e-6, Theta: 1e4, Act: "gelu_pytorch_tanh", Tied: true, NormPlus: 1, EmbedSqrt: true, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) {
		o.gemmaScores(c, 50, 30)
		o.setWindows(c, o.Int("window", 4096, maxLength, "sliding_window"), func(i int) bool { return i%2 == 0 })
	},
	GGUF: func(h *header, c *Config) {
		h.gemmaScale(c, 46)
		c.AttnCap = h.float("attn_cap", 50, "attn_logit_softcapping")
		c.LogitCap = h.float("logit_cap", 30, "final_logit_softcapping")
		h.setWindows(c, h.int("window", 4096, maxLength, "attention.sliding_window"), 2)
	},
	Prologue: embedText, Mixers: sandwichMixers, FFNs: sandwichFFNs, Epilogue: headText, Weights: sandwichWeights,
}

var gemma3Defaults = Defaults{
	Hidden: 2304, Layers: 26, Heads: 8, KVHeads: 4, HeadDim: 256, FFN: 9216, Vocab: 262208, Context: 131072,
	NormEps: 1e-6, Theta: 1e6, Act: "gelu_pytorch_tanh", Tied: true, NormPlus: 1, EmbedSqrt: true, QKNorm: true, FFNBias: Absent,
}

// gemma3 normalizes heads instead of capping scores. Layers with a window have a
// rotary table of their own, without scaling.
var gemma3 = Family{
	ID: "gemma3", ModelTypes: []string{"gemma3_text"},
	Arch: "gemma3", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: gemma3Defaults,
	HF:       (*object).gemma3,
	GGUF:     (*header).gemma3,
	Variant: func(o *object, f *Family) *Family {
		if o.Bool("bidirectional", false, "use_bidirectional_attention") {
			f = &gemmaEmbedding
		}
		delete(o.Prov, "bidirectional")
		return f
	},
	Prologue: embedText, Mixers: sandwichMixers, FFNs: sandwichFFNs, Epilogue: headText, Weights: sandwichWeights,
}

// gemmaEmbedding is gemma3 with attention in both directions. A window of w is
// that of |i−j| ≤ w/2.
var gemmaEmbedding = Family{
	ID:   "gemma-embedding",
	Arch: "gemma-embedding", ReadsArch: true, StatesWindow: true, StatesPattern: true,
	Defaults: gemma3Defaults,
	HF: func(o *object, c *Config) {
		o.gemma3(c)
		c.TiedHead, c.Encoder = true, &Encoder{Pool: poolMean}
	},
	GGUF: func(h *header, c *Config) {
		h.gemma3(c)
		c.TiedHead, c.Encoder = true, &Encoder{Pool: poolMean, Normalize: true}
		h.encoderTensors(c)
	},
	Prologue: embedText, Mixers: sandwichMixers, FFNs: sandwichFFNs, Epilogue: headText,
	Weights: sandwichWeights.with(denseWeights...),
}

func (o *object) gemma3(c *Config) {
	o.gemmaScores(c, 0, 0)
	every := o.Int("window_pattern", 6, maxLayers, "sliding_window_pattern", "_sliding_window_pattern")
	o.setWindows(c, o.Int("window", 4096, maxLength, "sliding_window"), func(i int) bool { return every == 0 || (i+1)%every != 0 })
	o.gemma3Ropes(c)
}

func (h *header) gemma3(c *Config) {
	h.gemmaScale(c, 62)
	c.LogitCap = h.float("logit_cap", 0, "final_logit_softcapping")
	h.setWindows(c, h.int("window", 0, maxLength, "attention.sliding_window"), 6)
	local := RotaryTable{Name: "sliding", Dim: c.rope("full").Dim, Scaling: PlainRope, Scale: 1}
	local.Theta = h.float("rope.sliding.theta", 10000, "rope.freq_base_swa")
	c.slidingRope(local)
}

// gemmaScores reads the scale of scores and the caps.
func (o *object) gemmaScores(c *Config, attnCap, logitCap float64) {
	if q := o.Float("attn_scale", 256, "query_pre_attn_scalar"); q > 0 {
		c.AttnScale = float32(1 / math.Sqrt(float64(q)))
	} else {
		o.Bad("query_pre_attn_scalar", "a number above 0", q)
	}
	c.AttnCap = o.cap("attn_cap", attnCap, "attn_logit_softcapping")
	c.LogitCap = o.cap("logit_cap", logitCap, "final_logit_softcapping")
}

// cap reads a soft cap: a missing key selects the family's, null means none.
func (o *object) cap(field string, def float64, key string) float32 {
	if v, there := o.M[key]; there && v == nil {
		o.Prov[field] = "file " + o.Prefix + key
		return 0
	}
	return o.Float(field, def, key)
}

// gemma3Ropes reads the second table, in either dialect.
func (o *object) gemma3Ropes(c *Config) {
	local := RotaryTable{Name: "sliding", Dim: c.HeadDim, Scaling: PlainRope, Scale: 1}
	if r, perKind := o.ropeObject("sliding_attention"); perKind {
		local = o.readRope("sliding", r, 1e4, 0, c)
	} else {
		local.Theta = o.Float("rope.sliding.theta", 1e4, "rope_local_base_freq")
	}
	c.slidingRope(local)
}

// slidingRope assigns the table to the layers with a window.
func (c *Config) slidingRope(r RotaryTable) {
	c.addRope(r)
	for i := range c.Layers {
		if c.Layers[i].Window > 0 {
			c.Layers[i].Rope = r.Name
		}
	}
}

// gemmaScale derives the scale of scores, which files of these families rarely
// state. Only the largest model, recognized by its number of layers, derives it
// from hidden width over heads.
func (h *header) gemmaScale(c *Config, largest int) {
	if !h.has("attention.scale") && len(c.Layers) == largest && c.Heads > 0 && c.Hidden > 0 {
		c.AttnScale = float32(1 / math.Sqrt(float64(c.Hidden)/float64(c.Heads)))
	}
}

// windowPattern is the key for the layers with a window: a list, or the period
// of layers without one.
const windowPattern = "attention.sliding_window_pattern"

// setWindows sets the window of all but every n-th layer, or of those that the
// file lists.
func (h *header) setWindows(c *Config, window, n int) { h.windowsFrom(c, window, n, 1) }

// windowsFrom is setWindows for a number of which layer i is without a window if
// n divides i+shift.
func (h *header) windowsFrom(c *Config, window, n, shift int) {
	slides := make([]bool, len(c.Layers))
	if v, ok := h.meta.Get(h.key(windowPattern)); ok && v.Type() == file.Array && v.Elem() == file.Bool {
		bools, found, err := h.meta.Bools(h.key(windowPattern))
		if h.note("windows", windowPattern, found, err) && h.perLayer(windowPattern, len(bools), c) {
			slides = bools
		}
	} else {
		n = h.int("window_pattern", n, maxLayers, windowPattern)
		for i := range slides {
			slides[i] = n > 0 && (i+shift)%n != 0
		}
	}
	for i := range c.Layers {
		if slides[i] {
			c.Layers[i].Window = window
		}
	}
}
