package tape

import "atenia/internal/plan"

// bindMamba2 binds a state space dual mixer (Mamba 2).
func bindMamba2[F Float](_ *Bind[F], _ *plan.SSMParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpMamba2}
}
