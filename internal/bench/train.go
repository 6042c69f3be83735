package bench

import (
	"context"
	"errors"

	"atenia"
	"atenia/internal/stepbench"
	"atenia/internal/trainbench"
)

// TrainStep measures steps of training a llama with its state in memory.
func TrainStep(ctx context.Context, c stepbench.Config) (*stepbench.Report, error) {
	r, err := stepbench.Run(ctx, c)
	if e, ok := errors.AsType[*stepbench.SizeError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}

// TrainOffload measures steps of training with parameters, moments and master
// weights in files beside the same steps in memory.
func TrainOffload(ctx context.Context, c trainbench.Config) (*trainbench.Report, error) {
	r, err := trainbench.Run(ctx, c)
	if e, ok := errors.AsType[*trainbench.SizeError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
