package atenia

import (
	"context"
	"errors"

	"atenia/internal/kernel/choice"
	"atenia/internal/kernelbench"
	"atenia/internal/roof"
)

// A KernelsConfig says what [BenchKernels] measures. The zero value is all of
// it, in about twenty seconds.
type KernelsConfig = kernelbench.Config

// A KernelsReport is how near kernels come to what the machine can do.
type KernelsReport = kernelbench.Report

// A KernelRate is what one kernel does with operands of one shape.
type KernelRate = kernelbench.Rate

// A KernelDecision is a choice that kernels made by measurement, with the times
// of all candidates. No result depends on it.
type KernelDecision = choice.Decision

// KernelRoofs are the most that the threads together do in a second.
type KernelRoofs = roof.Roofs

// KernelFormats returns the element types that [BenchKernels] measures.
func KernelFormats() []string { return kernelbench.Formats() }

// BenchKernels measures kernels without a model.
func BenchKernels(ctx context.Context, c KernelsConfig) (*KernelsReport, error) {
	r, err := kernelbench.Run(ctx, c)
	if e, ok := errors.AsType[*kernelbench.ConfigError](err); ok {
		return nil, &ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
