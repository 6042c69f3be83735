package compile

import (
	"fmt"

	"atenia/internal/plan"
)

// deltaFamilies are models with gated delta rules, short convolutions and RWKV mixers.
var deltaFamilies = []*Family{}

// deltaTerms are the names that their weight maps use.
var deltaTerms = vocabulary{}

// deltaTypes and deltaArchs are those of them that are refused by name.
var (
	deltaTypes = map[string]string{
		"qwen3_next":       needsRecurrent,
		"qwen3_5_text":     needsRecurrent,
		"qwen3_5_moe_text": needsRecurrent,
		"lfm2":             needsRecurrent,
		"lfm2_moe":         needsRecurrent,
	}
	deltaArchs = map[string]string{
		"qwen3next": needsRecurrent,
		"qwen35":    needsRecurrent,
		"qwen35moe": needsRecurrent,
		"lfm2":      needsRecurrent,
		"lfm2moe":   needsRecurrent,
	}
)

// A Delta is a gated delta rule (arXiv 2412.06464).
type Delta struct {
	KHeads, VHeads int
	KDim, VDim     int // of a head
	Conv           int // width of the convolution
}

func (d *Delta) check(bad func(field, want string, got any)) {}

// A ShortConv is a gated short convolution.
type ShortConv struct {
	Kernel int
}

func (s *ShortConv) check(bad func(field, want string, got any)) {}

func (r *resolver) gatedDelta(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: gated_delta has no parameters yet", layer)
}

func (r *resolver) shortConv(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: shortconv has no parameters yet", layer)
}

// deltaSections and convSections are the parts of a layer's state.
func (c *Config) deltaSections() []plan.Section { return nil }
func (c *Config) convSections() []plan.Section  { return nil }
