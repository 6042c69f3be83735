package sample

import (
	"fmt"
	"slices"
	"strings"
)

// A Stage is one step between the logits and the choice.
type Stage uint8

// The stages.
const (
	Penalties   Stage = iota // RepeatPenalty, FrequencyPenalty, PresencePenalty
	DryStage                 // DRY
	TopK                     // the K most likely
	Typical                  // locally typical
	TopP                     // nucleus
	MinP                     // relative to the most likely
	Temperature              // flatter or sharper
	XTC                      // without the most likely, at times
)

// A stageRule describes a stage: its name in flags and text, when it is enabled,
// whether it removes tokens, and its implementation.
type stageRule struct {
	name      string
	truncates bool
	on        func(p *Params, vocab int) bool
	run       func(s *Sampler)
}

// stages is indexed by Stage. on is called with defaults filled in.
var stages = [...]stageRule{
	Penalties: {"penalties", false, func(p *Params, _ int) bool {
		return p.RepeatPenalty != 1 || p.FrequencyPenalty != 0 || p.PresencePenalty != 0
	}, (*Sampler).penalize},
	DryStage: {"dry", false, func(p *Params, _ int) bool { return p.DRY.Multiplier > 0 }, (*Sampler).dry},
	TopK:     {"top-k", true, func(p *Params, vocab int) bool { return p.TopK > 0 && p.TopK < vocab }, (*Sampler).topK},
	Typical:  {"typical", true, func(p *Params, _ int) bool { return p.Typical > 0 && p.Typical < 1 }, (*Sampler).typical},
	TopP:     {"top-p", true, func(p *Params, _ int) bool { return p.TopP > 0 && p.TopP < 1 }, (*Sampler).topP},
	MinP:     {"min-p", true, func(p *Params, _ int) bool { return p.MinP > 0 }, (*Sampler).minP},
	XTC: {"xtc", true, func(p *Params, _ int) bool {
		return p.XTCProbability > 0 && p.XTCThreshold > 0 && p.XTCThreshold <= 0.5
	}, (*Sampler).xtc},
	Temperature: {"temperature", false, func(p *Params, _ int) bool { return p.Temperature != 1 }, (*Sampler).temperature},
}

// DefaultOrder returns llama.cpp's order: penalties apply to the model's own
// logits; top-k comes before stages that sum probabilities, which it makes
// cheap; temperature is last, so that it does not change what is kept.
func DefaultOrder() []Stage {
	return []Stage{Penalties, DryStage, TopK, Typical, TopP, MinP, XTC, Temperature}
}

func (s Stage) String() string {
	if int(s) < len(stages) {
		return stages[s].name
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// ParseStage reads what String prints.
func ParseStage(name string) (Stage, error) {
	i := slices.IndexFunc(stages[:], func(r stageRule) bool { return r.name == name })
	if i < 0 {
		names := make([]string, len(stages))
		for i, r := range stages {
			names[i] = r.name
		}
		return 0, fmt.Errorf("unknown sampling stage %q, want one of %s", name, strings.Join(names, ", "))
	}
	return Stage(i), nil
}

// MarshalText implements [encoding.TextMarshaler].
func (s Stage) MarshalText() ([]byte, error) {
	if int(s) >= len(stages) {
		return nil, fmt.Errorf("unknown sampling %v", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Stage) UnmarshalText(text []byte) error {
	v, err := ParseStage(string(text))
	if err == nil {
		*s = v
	}
	return err
}
