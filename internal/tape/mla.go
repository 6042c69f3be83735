package tape

import "atenia/internal/plan"

// bindMLA binds multi-head latent attention.
func bindMLA[F Float](_ *Bind[F], _ *plan.MLAParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpMLA}
}
