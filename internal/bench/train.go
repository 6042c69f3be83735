package bench

import (
	"context"
	"errors"

	"atenia"
	"atenia/internal/bench/step"
)

// TrainStep measures steps of training a llama with its state in memory.
func TrainStep(ctx context.Context, c step.Config) (*step.Report, error) {
	r, err := step.RunSteps(ctx, c)
	if e, ok := errors.AsType[*step.SizeError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}

// TrainOffload measures steps of training with parameters, moments and master
// weights in files, and the same steps in memory.
func TrainOffload(ctx context.Context, c step.OffloadConfig) (*step.OffloadReport, error) {
	r, err := step.RunOffload(ctx, c)
	if e, ok := errors.AsType[*step.OffloadSizeError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
