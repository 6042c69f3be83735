package atenia

import "atenia/internal/sample"

// Sampling says how the next token is chosen from the logits. The zero value
// takes the most likely one; [Model.Sampling] returns what a model's makers
// recommend. Equal seeds give equal answers.
type Sampling = sample.Params

// DRY ("don't repeat yourself") is the part of [Sampling] that penalises
// tokens which would continue a repetition.
type DRY = sample.DRY

// Mirostat is the part of [Sampling] that steers towards a constant surprise.
type Mirostat = sample.Mirostat

// A Stage is one step of choosing a token, for Sampling.Order.
type Stage = sample.Stage

// The stages, in their usual order. See [Sampling] for what each does.
const (
	StagePenalties   = sample.Penalties
	StageDRY         = sample.DryStage
	StageTopK        = sample.TopK
	StageTypical     = sample.Typical
	StageTopP        = sample.TopP
	StageMinP        = sample.MinP
	StageTemperature = sample.Temperature
)

// ParseStage reads the name of a stage: "penalties", "dry", "top-k",
// "typical", "top-p", "min-p", "temperature".
func ParseStage(name string) (Stage, error) { return sample.ParseStage(name) }

// DefaultOrder returns the order of stages that is used when none is chosen.
func DefaultOrder() []Stage { return sample.DefaultOrder() }

// A SamplingError names a field of [Sampling] whose value cannot be used.
type SamplingError = sample.ParamError

// A LogProb is a token with its log-probability under the model's unmodified
// distribution.
type LogProb = sample.LogProb
