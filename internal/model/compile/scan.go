package compile

import (
	"fmt"

	"atenia/internal/plan"
)

// scanFamilies are models with selective scans (Mamba 1 and 2).
var scanFamilies = []*Family{}

// scanTerms are the names that their weight maps use.
var scanTerms = vocabulary{}

// scanTypes and scanArchs are those of them that are refused by name.
var (
	scanTypes = map[string]string{
		"granitemoehybrid": needsRecurrent,
		"bamba":            needsRecurrent,
		"mamba":            needsRecurrent,
		"mamba2":           needsRecurrent,
		"falcon_mamba":     needsRecurrent,
	}
	scanArchs = map[string]string{
		"granitehybrid": needsRecurrent,
		"mamba":         needsRecurrent,
		"mamba2":        needsRecurrent,
	}
)

// A Scan is a selective state space: Mamba 1 (arXiv 2312.00752) or Mamba 2 (arXiv
// 2405.21060).
type Scan struct {
	Inner  int // width of the mixer
	State  int // N: values of state for each inner channel
	Conv   int // K: width of the convolution
	DtRank int `json:",omitempty"` // mamba1
	Heads  int `json:",omitempty"` // mamba2
	Groups int `json:",omitempty"` // mamba2: sets of B and C
}

func (s *Scan) check(bad func(field, want string, got any)) {}

func (r *resolver) mamba1(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: mamba1 has no parameters yet", layer)
}

func (r *resolver) mamba2(layer int) (plan.Params, error) {
	return nil, fmt.Errorf("layer %d: mamba2 has no parameters yet", layer)
}

// scanSections are the parts of a layer's state.
func (c *Config) scanSections(mixer string) []plan.Section { return nil }
