package exec

import "atenia/internal/plan"

// bindGatedDelta binds a gated delta rule mixer.
func bindGatedDelta(_ *Bind, _ *plan.GatedDeltaParams) (Kernel, error) {
	return nil, unsupported(plan.OpGatedDelta)
}
