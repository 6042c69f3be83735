package exec

import "atenia/internal/plan"

// bindPool binds the reduction of a sequence to one vector.
func bindPool(_ *Bind, _ *plan.PoolParams) (Kernel, error) { return nil, unsupported(plan.OpPool) }
