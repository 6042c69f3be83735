package compile

import (
	"fmt"

	"atenia/internal/plan"
	"atenia/tensor"
)

// deltaFamilies are models with gated delta rules, short convolutions and RWKV mixers.
var deltaFamilies = []*Family{&lfm2, &lfm2MoE, &qwen3Next, &qwen35, &qwen35MoE, &rwkv7}

// deltaTerms are the names that their weight maps use.
var deltaTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"conv.taps":     func(c *Config) int { return c.ShortConv.Kernel },
		"rwkv.decay":    func(c *Config) int { return c.RWKV.DecayRank },
		"rwkv.rate":     func(c *Config) int { return c.RWKV.RateRank },
		"rwkv.value":    func(c *Config) int { return c.RWKV.ValueRank },
		"rwkv.gate":     func(c *Config) int { return c.RWKV.GateRank },
		"delta.taps":    func(c *Config) int { return c.Delta.Conv },
		"delta.keys":    func(c *Config) int { return c.Delta.KHeads },
		"delta.values":  func(c *Config) int { return c.Delta.VHeads },
		"delta.group":   func(c *Config) int { return c.Delta.VHeads / max(1, c.Delta.KHeads) },
		"delta.v":       func(c *Config) int { return c.Delta.VDim },
		"delta.qk":      func(c *Config) int { return 2 * c.Delta.KHeads * c.Delta.KDim },
		"delta.out":     func(c *Config) int { return c.Delta.VHeads * c.Delta.VDim },
		"delta.channel": func(c *Config) int { return c.Delta.channels() },
	},
	conds: map[string]func(*Config) Presence{
		"rwkv.norm_bias": func(*Config) Presence { return ByTensor },
		"conv.bias":      func(c *Config) Presence { return presentIf(c.ShortConv.Bias) },
	},
}

// deltaTypes and deltaArchs are those of them that are refused by name.
var deltaTypes, deltaArchs map[string]string

// A ShortConv is a gated short convolution.
type ShortConv struct {
	Kernel int
	Bias   bool `json:",omitempty"` // of both projections and of the convolution
}

// maxTaps bounds the width of convolutions.
const maxTaps = 64

func (s *ShortConv) check(bad func(field, want string, got any)) {
	if s.Kernel < 1 || s.Kernel > maxTaps {
		bad("width of the convolution", fmt.Sprintf("1 to %d", maxTaps), s.Kernel)
	}
}

func (r *resolver) shortConv(layer int) (plan.Params, error) {
	return &plan.ConvParams{Layer: uint32(r.states.ordinal[layer]), Dim: uint32(r.c.Hidden), Kernel: uint32(r.c.ShortConv.Kernel)}, nil
}

// convSections are the parts of a layer's state.
func (c *Config) convSections() []plan.Section {
	return []plan.Section{floatSection("conv", (c.ShortConv.Kernel-1)*c.Hidden)}
}

// floatSection is a section of n values of float32, the type of recurrent states
// whatever that of the activations.
func floatSection(name string, n int) plan.Section {
	return plan.Section{Name: name, Bytes: 4 * uint64(n), DType: tensor.F32}
}

// deltaKeys calls its arguments with llama.cpp's keys of these mixers.
func (c *Config) deltaKeys(u32 func(string, int), f32 func(string, float32)) {
	if c.hasMixer(mixRWKVFirst) {
		c.rwkvKeys(u32, f32)
	}
	if c.hasMixer(mixDelta) {
		c.gatedDeltaKeys(u32)
	}
	if c.hasMixer(mixConv) {
		u32("shortconv.l_cache", c.ShortConv.Kernel)
	}
}

// setMixers gives layers the mixers of layer_types, whose names kinds translates.
func (o *object) setMixers(c *Config, kinds map[string]string) bool {
	names, ok := o.Strings("layer_types", "layer_types")
	if !ok {
		return false
	}
	if len(names) != len(c.Layers) {
		o.Bad("layer_types", fmt.Sprintf("%d layers", len(c.Layers)), len(names))
		return true
	}
	for i, k := range names {
		if _, known := kinds[k]; !known {
			o.Bad(fmt.Sprintf("layer_types[%d]", i), "a kind of layer of this family", k)
			return true
		}
		c.setMixer(i, kinds[k])
	}
	return true
}

// setMixer gives a layer its mixer; only attention has positions.
func (c *Config) setMixer(layer int, mixer string) {
	c.Layers[layer].Mixer = mixer
	if mixer != mixAttention {
		c.Layers[layer].Rope = ""
	}
}
