package exec

import "atenia/internal/plan"

// bindMamba2 binds a state space dual mixer (Mamba 2).
func bindMamba2(_ *Bind, _ *plan.SSMParams) (Kernel, error) { return nil, unsupported(plan.OpMamba2) }
