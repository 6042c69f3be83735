package exec

import "atenia/internal/plan"

// bindCrossAttention binds attention over the rows of an encoder.
func bindCrossAttention(_ *Bind, _ *plan.AttentionParams) (Kernel, error) {
	return nil, unsupported(plan.OpCrossAttn)
}
