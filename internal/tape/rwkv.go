package tape

import "atenia/internal/plan"

func bindRWKVValue[F Float](_ *Bind[F], _ *plan.RWKVParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpRWKVValue}
}

func bindRWKVTimeMix[F Float](_ *Bind[F], _ *plan.RWKVParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpRWKVTimeMix}
}

func bindRWKVChannelMix[F Float](_ *Bind[F], _ *plan.RWKVParams) (recorder[F], error) {
	return nil, &UntrainedError{Op: plan.OpRWKVChannelMix}
}
