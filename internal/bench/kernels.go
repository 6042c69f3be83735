package bench

import (
	"context"
	"errors"

	"atenia"
	"atenia/internal/bench/kernels"
)

// Kernels measures kernels without a model.
func Kernels(ctx context.Context, c kernels.Config) (*kernels.Report, error) {
	r, err := kernels.RunKernels(ctx, c)
	if e, ok := errors.AsType[*kernels.ConfigError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
