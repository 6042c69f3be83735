package tape

import "atenia/internal/plan"

// bindGatedDelta binds a gated delta rule mixer.
func bindGatedDelta[F Float](_ *Bind[F], _ *plan.GatedDeltaParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpGatedDelta}
}
