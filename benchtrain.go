package atenia

import (
	"context"
	"errors"

	"atenia/internal/stepbench"
	"atenia/internal/trainbench"
)

// A TrainStepConfig says what [BenchTrain] measures.
type TrainStepConfig = stepbench.Config

// A TrainStepReport is what a step of training takes.
type TrainStepReport = stepbench.Report

// TrainStepSizes are the models that [BenchTrain] can make.
func TrainStepSizes() []string { return stepbench.Names() }

// BenchTrain measures steps of training a llama with its state in memory.
func BenchTrain(ctx context.Context, c TrainStepConfig) (*TrainStepReport, error) {
	r, err := stepbench.Run(ctx, c)
	if e, ok := errors.AsType[*stepbench.SizeError](err); ok {
		return nil, &ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}

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
