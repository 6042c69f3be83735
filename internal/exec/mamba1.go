package exec

import "atenia/internal/plan"

// bindMamba1 binds a selective scan with a diagonal state (Mamba 1).
func bindMamba1(_ *Bind, _ *plan.SSMParams) (Kernel, error) { return nil, unsupported(plan.OpMamba1) }
