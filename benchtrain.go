package atenia

import (
	"context"
	"errors"

	"atenia/internal/trainbench"
)

// A TrainOffloadConfig says what [BenchTrainOffload] measures.
type TrainOffloadConfig = trainbench.Config

// A TrainOffloadReport is what training with its state in files costs.
type TrainOffloadReport = trainbench.Report

// BenchTrainOffload measures steps of training with parameters, moments and
// master weights in files beside the same steps in memory.
func BenchTrainOffload(ctx context.Context, c TrainOffloadConfig) (*TrainOffloadReport, error) {
	r, err := trainbench.Run(ctx, c)
	if e, ok := errors.AsType[*trainbench.SizeError](err); ok {
		return nil, &ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
