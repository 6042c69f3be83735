package exec

import "atenia/internal/plan"

// bindDeepstackInject binds the addition of inner vision features to token rows.
func bindDeepstackInject(_ *Bind, _ *plan.ScatterParams) (Kernel, error) {
	return nil, unsupported(plan.OpDeepstackInject)
}
