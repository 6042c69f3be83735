package exec

import "atenia/internal/plan"

// bindShortConv binds a gated short convolution.
func bindShortConv(_ *Bind, _ *plan.ConvParams) (Kernel, error) {
	return nil, unsupported(plan.OpShortConv)
}
