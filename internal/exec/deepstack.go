package exec

import "atenia/internal/plan"

// bindDeepstackTap binds a merger of features of an inner vision layer.
func bindDeepstackTap(_ *Bind, _ *plan.MergeParams) (Kernel, error) {
	return nil, unsupported(plan.OpDeepstackTap)
}
