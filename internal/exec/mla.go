package exec

import "atenia/internal/plan"

// bindMLA binds multi-head latent attention.
func bindMLA(_ *Bind, _ *plan.MLAParams) (Kernel, error) { return nil, unsupported(plan.OpMLA) }
