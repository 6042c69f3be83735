package tape

import "atenia/internal/plan"

// bindShortConv binds a gated short convolution.
func bindShortConv[F Float](_ *Bind[F], _ *plan.ConvParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpShortConv}
}
