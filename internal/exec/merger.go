package exec

import "atenia/internal/plan"

// bindSpatialMerge binds the merger of neighbouring patches.
func bindSpatialMerge(_ *Bind, _ *plan.MergeParams) (Kernel, error) {
	return nil, unsupported(plan.OpSpatialMerge)
}
