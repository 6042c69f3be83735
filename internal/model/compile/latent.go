package compile

import (
	"fmt"

	"atenia/internal/plan"
)

// latentFamilies are models with latent attention.
var latentFamilies = []*Family{}

// latentTerms are the names that their weight maps use.
var latentTerms = vocabulary{}

// latentTypes and latentArchs are those of them that are refused by name.
var (
	latentTypes = map[string]string{
		"deepseek_v2": needsMLA,
		"deepseek_v3": needsMLA,
		"kimi_k2":     needsMLA,
		"youtu":       needsMLA,
		"minicpm3":    needsMLA,
	}
	latentArchs = map[string]string{
		"deepseek2": needsMLA,
		"minicpm3":  needsMLA,
	}
)

// A Latent is multi-head latent attention: keys and values are expanded from one
// vector a token, which alone is cached (DeepSeek-V2, arXiv 2405.04434).
type Latent struct {
	QRank  int // width between the two query projections; 0 = one projection
	KVRank int // width of the cached vector
	Nope   int // elements of a head's key without rotation
	Rope   int // elements with rotation, shared by all heads
	V      int // elements of a head's value
}

func (l *Latent) check(bad func(field, want string, got any)) {}

// sections are the cached vector and the rotated key of a layer in a page.
func (l *Latent) sections(opt Options) ([]plan.Section, error) {
	return nil, fmt.Errorf("latent attention has no cache yet")
}

func (r *resolver) latent(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: latent attention has no parameters yet", layer)
}
