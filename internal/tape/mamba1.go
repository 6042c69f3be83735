package tape

import "atenia/internal/plan"

// bindMamba1 binds a selective scan with a diagonal state (Mamba 1).
func bindMamba1[F Float](_ *Bind[F], _ *plan.SSMParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpMamba1}
}
