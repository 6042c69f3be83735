package exec

import "atenia/internal/plan"

// bindConvStem binds the convolutions before an audio encoder.
func bindConvStem(_ *Bind, _ *plan.PatchParams) (Kernel, error) {
	return nil, unsupported(plan.OpConvStem)
}
