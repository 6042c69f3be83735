package recipe

import (
	"atenia/grad"
	"atenia/nested"
	"atenia/nested/rule"
)

// Rule returns the optimizer's rule.
func (o *Optimizer) Rule() grad.UpdateRule {
	beta2, momentum := o.Beta2, 0.95
	if o.Kind == "sgd" {
		momentum = 0.9
	}
	if o.Momentum != nil {
		momentum = *o.Momentum
	}
	if o.Kind != "lion" {
		set(&beta2, 0.95)
	}
	adamw := grad.AdamW{Beta1: o.Beta1, Beta2: beta2, Epsilon: o.Epsilon, Decay: o.Decay}
	switch o.Kind {
	case "muon":
		return grad.Muon{Momentum: momentum, Iterations: o.Iterations, Decay: o.Decay, Rest: adamw}
	case "lion":
		return grad.Lion{Beta1: o.Beta1, Beta2: beta2, Decay: o.Decay}
	case "sgd":
		return grad.SGD{Momentum: momentum, Decay: o.Decay}
	}
	return adamw
}

// Rates returns the learning rates of a run.
func (r *Recipe) Rates() grad.Schedule {
	s := r.Schedule
	return grad.Schedule{Curve: s.Curve, Steps: r.Train.Steps, Warmup: s.Warmup, Decay: s.Decay, Floor: s.Floor}
}

// Nested returns the configuration of a nested model for a vocabulary of the
// given size.
func (r *Recipe) Nested(vocabulary int) (nested.Config, error) {
	m, y := r.Model, r.Memory
	c := nested.Config{
		Rule: rule.Name(y.Rule), Vocab: vocabulary, Width: m.Hidden, Heads: m.Heads, Window: y.Window, Layers: m.Layers,
		Periods: y.Periods, Chunk: y.Chunk, RopeBase: m.RopeTheta, Residual: !y.Plain, Norm: !y.Plain, KeyTaps: y.KeyTaps, Seed: r.Train.Seed,
	}
	err := c.Composition.UnmarshalText([]byte(y.Composition))
	return c, err
}
