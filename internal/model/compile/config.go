package compile

import (
	"fmt"
	"slices"

	"atenia/internal/plan"
)

// A Source is the kind of file that a configuration was read from. It determines
// the row order of the query and key projections and whether norm weights
// include their offset.
type Source string

// The sources. They are the formats of [file.Description].
const (
	HuggingFace Source = "huggingface"
	GGUF        Source = "gguf"
)

// A Presence says whether a model has an optional weight.
type Presence string

// The presences.
const (
	ByTensor Presence = "" // not configured: determined by the file's tensors
	Present  Presence = "present"
	Absent   Presence = "absent"
)

// A Config is a model's normalized configuration: every default filled in, every
// alias resolved, nothing left to derive. Programs, weights, states and
// parameters depend on it alone. Scalars are float32 because GGUF stores them
// so, and a model must not change when it is converted.
type Config struct {
	Family string
	Arch   string // GGUF architecture that stores this model
	Source Source

	Hidden  int // width of the residual stream
	Heads   int // query heads
	KVHeads int // key and value heads
	HeadDim int
	FFN     int // width of the dense feed-forward layer
	Vocab   int
	Context int // positions the model was trained for

	Act         string // activation of the feed-forward layer, see acts
	NormEps     float32
	NormPlus    float32 `json:",omitempty"` // added to norm weights on use
	QKNorm      bool    `json:",omitempty"` // norm of each head of q and k before rope
	TiedHead    bool    `json:",omitempty"` // logits use the embedding table
	Interleaved bool    `json:",omitempty"` // rope rotates elements 2i and 2i+1 of a head, not i and i+r/2
	QKVBias     Presence
	OutBias     Presence // of the attention's output projection
	FFNBias     Presence
	EmbedMul    float32 // multiplies embeddings
	BranchMul   float32 // multiplies what each branch adds to the residual stream
	LogitMul    float32 // multiplies logits
	LogitCap    float32 `json:",omitempty"` // c·tanh(l/c); 0 = none

	AttnScale float32 // multiplies q·k
	AttnCap   float32 `json:",omitempty"`
	TempBeta  float32 `json:",omitempty"` // q ×= 1 + TempBeta·ln(1+⌊pos/TempOrig⌋)
	TempOrig  int     `json:",omitempty"`

	NormKind   string  `json:",omitempty"` // "" = root mean square, "layer" = layer norm
	QKKind     string  `json:",omitempty"` // of the norm of q and k, see qkNorms; "" = each head before rope
	Clip       float32 `json:",omitempty"` // q, k and v are limited to ±Clip; 0 = not
	Alibi      float32 `json:",omitempty"` // largest slope exponent of linear biases on distance (ALiBi); 0 = none
	Ungated    bool    `json:",omitempty"` // feed-forward layers have no gate
	PosSkip    int     `json:",omitempty"` // rows of a file's table of positions before that of the first position
	QGate      bool    `json:",omitempty"` // the query projection also holds a gate of the attention's output
	WholeHeads bool    `json:",omitempty"` // the file has rows of q and k in an order of whole heads, though rope rotates a part, see [Config.wholeHeads]
	TiledV     bool    `json:",omitempty"` // heads of values that share a key head are KHeads apart, not neighbours
	Sinks      bool    `json:",omitempty"` // each head has a learned logit that takes part in the softmax

	Later int `json:",omitempty"` // layers after the last, which predict several tokens at once; their tensors are not read

	Mixture   Mixture   `json:",omitzero"` // of layers whose FFN is "moe"
	Latent    Latent    `json:",omitzero"` // of layers whose mixer is "mla"
	Scan      Scan      `json:",omitzero"` // of layers whose mixer is "mamba1" or "mamba2"
	Delta     Delta     `json:",omitzero"` // of layers whose mixer is "gated_delta"
	RWKV      RWKV      `json:",omitzero"` // of layers whose mixer is "rwkv7"
	ShortConv ShortConv `json:",omitzero"` // of layers whose mixer is "shortconv"
	Encoder   *Encoder  `json:",omitempty"`
	Vision    *Vision   `json:",omitempty"`
	Sections  []int     `json:",omitempty"` // pairs of a head that turn by time, row and column; none = all by position
	Mixed     bool      `json:",omitempty"` // these take turns; otherwise they are blocks
	Audio     *Audio    `json:",omitempty"`

	Ropes  []RotaryTable `json:",omitempty"`
	Layers []Layer       `json:",omitempty"`
}

// A Layer holds what may differ between the layers of a model.
type Layer struct {
	Mixer  string // "attention", "attention_without_norm", "parallel", "parallel_norms", "mla", "mamba1", "mamba2", "gated_delta", "shortconv" or "none"
	FFN    string // "dense", "moe" or "none"
	Window int    `json:",omitempty"` // keys that an attention layer attends to; 0 = all
	Rope   string `json:",omitempty"` // name of a table in Config.Ropes; "" = none
}

// Normalized layer kinds.
const (
	mixAttention = "attention"
	mixParallel  = "parallel"               // attention and feed-forward layer read the same input
	mixParallel2 = "parallel_norms"         // through norms of their own
	mixBare      = "attention_without_norm" // of a first layer whose input was normalized as it was embedded
	mixMLA       = "mla"
	mixMamba1    = "mamba1"
	mixMamba2    = "mamba2"
	mixDelta     = "gated_delta"
	mixConv      = "shortconv"
	mixRWKV      = "rwkv7"
	mixRWKVFirst = "rwkv7_first" // of the first layer, whose values the others read
	mixNone      = "none"
	ffnDense     = "dense"
	ffnMoE       = "moe"
	ffnChannel   = "channel_mix"
	ffnNone      = "none"
	layerNorm    = "layer" // Config.NormKind
)

// acts maps normalized activation names to the numbers in plans.
var acts = map[string]uint32{
	"silu": plan.ActSiLU, "gelu_tanh": plan.ActGELUTanh, "gelu_erf": plan.ActGELUErf,
	"relu": plan.ActReLU, "relu2": plan.ActReLU2, "quick_gelu": plan.ActQuickGELU,
	actSwiGLUOAI: plan.ActSwiGLUOAI,
}

// qkNorms maps the kinds of norms of queries and keys to the numbers in plans.
var qkNorms = map[string]uint32{"": plan.QKNormHead, qkAfter: plan.QKNormAfter, qkWhole: plan.QKNormWhole, qkLayer: plan.QKNormLayer}

const (
	qkAfter = "after_rope"
	qkWhole = "whole"
	qkLayer = "layer"
)

// actSwiGLUOAI is the activation of gpt-oss: clamped, with Mixture.Limit and Alpha.
const actSwiGLUOAI = "swiglu_oai"

// actAliases maps the spellings of configurations to normalized names.
var actAliases = map[string]string{
	"silu": "silu", "swish": "silu",
	"gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_tanh": "gelu_tanh",
	"gelu": "gelu_erf", "gelu_python": "gelu_erf",
	"relu": "relu", "relu2": "relu2", "relu_squared": "relu2", "sqrelu": "relu2", "quick_gelu": "quick_gelu",
}

// Bounds on configuration values. They are far above any existing model and keep
// computed sizes far below overflow.
const (
	maxLayers = 1024
	maxHeads  = 1 << 14
	maxWidth  = 1 << 20 // hidden and feed-forward widths
	maxHead   = 1 << 12 // head width
	maxVocab  = 1 << 24
	maxLength = 1 << 30 // positions
	maxExpert = 1 << 14

	// maxExperts bounds those of all layers, each of which has three names: a
	// configuration of 900 bytes can ask for millions. Models have up to 25,000.
	maxExperts = 1 << 16
)

// canonicalise clears fields without effect, so that equal models have equal
// configurations.
func (c *Config) canonicalise() {
	if c.TempBeta == 0 {
		c.TempOrig = 0
	}
	if !c.feeds() {
		c.FFN = 0
	}
	if c.Mixture.canonicalise(); !c.hasMixture() {
		c.Mixture = Mixture{}
	}
	c.Ropes = slices.DeleteFunc(c.Ropes, func(r RotaryTable) bool {
		return !slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.Rope == r.Name })
	})
}

// check reports every invalid value. file names the configuration in errors.
func (c *Config) check(file string, f *faults) {
	bad := func(field, want string, got any) {
		f.Add(&configError{File: file, Field: field, Want: want, Got: fmt.Sprint(got)})
	}
	type bound struct {
		field    string
		got, max int
	}
	bounds := []bound{
		{"hidden size", c.Hidden, maxWidth}, {"vocabulary size", c.Vocab, maxVocab},
		{"context length", c.Context, maxLength}, {"layers", len(c.Layers), maxLayers},
	}
	if c.attends() {
		bounds = append(bounds, bound{"attention heads", c.Heads, maxHeads}, bound{"key/value heads", c.KVHeads, maxHeads}, bound{"head width", c.HeadDim, maxHead})
	}
	if c.feeds() {
		bounds = append(bounds, bound{"feed-forward width", c.FFN, maxWidth})
	}
	for _, x := range bounds {
		if x.got < 1 || x.got > x.max {
			bad(x.field, fmt.Sprintf("1 to %d", x.max), x.got)
		}
	}
	if c.Heads > 0 && c.KVHeads > 0 && c.Heads%c.KVHeads != 0 {
		bad("key/value heads", fmt.Sprintf("a divisor of the %d attention heads", c.Heads), c.KVHeads)
	}
	if _, ok := qkNorms[c.QKKind]; !ok {
		bad("norm of queries and keys", "a known kind", fmt.Sprintf("%q", c.QKKind))
	}
	if _, ok := acts[c.Act]; !ok {
		bad("activation", "an activation", fmt.Sprintf("%q", c.Act))
	}
	for _, x := range []struct {
		field string
		v     float32
	}{
		{"norm epsilon", c.NormEps}, {"attention scale", c.AttnScale}, {"embedding multiplier", c.EmbedMul},
		{"residual multiplier", c.BranchMul}, {"logit multiplier", c.LogitMul},
	} {
		if !c.attends() && x.field == "attention scale" {
			continue
		}
		if !(x.v > 0 && x.v < 1e30) {
			bad(x.field, "a number above 0", x.v)
		}
	}
	for _, x := range []struct {
		field string
		v     float32
	}{
		{"attention soft cap", c.AttnCap}, {"logit soft cap", c.LogitCap}, {"temperature scale", c.TempBeta},
		{"limit of q, k and v", c.Clip}, {"largest bias on distance", c.Alibi},
	} {
		if !(x.v >= 0 && x.v < 1e30) {
			bad(x.field, "a number, 0 or above", x.v)
		}
	}
	if c.TempBeta > 0 && c.TempOrig < 1 {
		bad("original context length", "above 0, because queries are scaled by position", c.TempOrig)
	}
	for i := range c.Ropes {
		r := &c.Ropes[i]
		r.Check(c.HeadDim, maxLength, func(field, want string, got any) { bad("rope "+r.Name+": "+field, want, got) })
	}
	if c.hasMixture() {
		c.Mixture.check(bad)
		if n := c.mixtures() * c.Mixture.Experts; n > maxExperts {
			bad("experts", fmt.Sprintf("at most %d in all layers", maxExperts), n)
		}
	}
	if c.Audio != nil {
		c.Audio.check(c.Hidden, bad)
	}
	if c.Encoder != nil {
		c.Encoder.check(c.Hidden, bad)
		for i, l := range c.Layers {
			if l.Mixer != mixAttention && l.Mixer != mixBare {
				bad(fmt.Sprintf("layer %d of an encoder", i), "attention: layers of other kinds keep a state", l.Mixer)
				break
			}
		}
	}
	if c.hasMixer(mixMLA) {
		c.Latent.check(bad)
	}
	if c.hasMixer(mixMamba1) || c.hasMixer(mixMamba2) {
		c.Scan.check(c, bad)
	}
	if c.hasMixer(mixDelta) {
		c.Delta.check(bad)
	}
	if c.hasMixer(mixConv) {
		c.ShortConv.check(bad)
	}
	c.checkSections(bad)
	if c.Vision != nil {
		c.Vision.check(c, bad)
	}
	if c.hasMixer(mixRWKVFirst) {
		c.RWKV.check(c, bad)
	}
	for i, l := range c.Layers {
		if l.Window < 0 || l.Window > maxLength {
			bad(fmt.Sprintf("window of layer %d", i), fmt.Sprintf("0 to %d", maxLength), l.Window)
		}
		if l.Rope != "" && c.rope(l.Rope) == nil {
			bad(fmt.Sprintf("rope of layer %d", i), "a table of the model", l.Rope)
		}
	}
}

// feeds reports whether a layer has a feed-forward half, or there are no layers.
func (c *Config) feeds() bool {
	return len(c.Layers) == 0 || slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.FFN != ffnNone }) || c.isParallel()
}

// attends reports whether a layer attends, or there are no layers.
func (c *Config) attends() bool {
	return len(c.Layers) == 0 || c.hasMixer(mixAttention) || c.isParallel() || c.hasMixer(mixMLA)
}

// hasMixer reports whether a layer has the mixer.
func (c *Config) hasMixer(kind string) bool {
	return slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.Mixer == kind })
}

// rope returns the named rotary table, or nil.
func (c *Config) rope(name string) *RotaryTable {
	for i := range c.Ropes {
		if c.Ropes[i].Name == name {
			return &c.Ropes[i]
		}
	}
	return nil
}

// presence evaluates the conditions in weight specs.
func (c *Config) presence(cond string) Presence {
	switch cond {
	case "qkv_bias":
		return c.QKVBias
	case "o_bias":
		return c.OutBias
	case "ffn_bias":
		return c.FFNBias
	case "shared":
		return presentIf(c.Mixture.Shared > 0)
	case "shared_gate":
		return presentIf(c.Mixture.Shared > 0 && !c.Mixture.SharedPlain)
	case "select_bias":
		return presentIf(c.Mixture.SelectBias)
	case "router_bias":
		return presentIf(c.Mixture.RouterBias)
	case "expert_bias":
		return presentIf(c.Mixture.ExpertBias)
	case "qk_norm":
		return presentIf(c.QKNorm)
	}
	for _, v := range terms {
		if f := v.conds[cond]; f != nil {
			return f(c)
		}
	}
	return Present
}
