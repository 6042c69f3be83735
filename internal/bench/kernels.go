package bench

import (
	"context"
	"errors"

	"atenia"
	"atenia/internal/kernelbench"
)

// Kernels measures kernels without a model.
func Kernels(ctx context.Context, c kernelbench.Config) (*kernelbench.Report, error) {
	r, err := kernelbench.Run(ctx, c)
	if e, ok := errors.AsType[*kernelbench.ConfigError](err); ok {
		return nil, &atenia.ConfigError{Field: e.Field, Got: e.Got, Want: e.Want}
	}
	return r, err
}
