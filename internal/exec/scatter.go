package exec

import "atenia/internal/plan"

// bindVisionScatter binds the copy of image rows into token rows.
func bindVisionScatter(_ *Bind, _ *plan.ScatterParams) (Kernel, error) {
	return nil, unsupported(plan.OpVisionScatter)
}
