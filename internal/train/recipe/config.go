package recipe

import (
	"atenia/grad"
	"atenia/internal/model/lora"
	"atenia/internal/tape"
	"atenia/nested"
	"atenia/nested/rule"
)

// used returns the optimizer with the defaults of its kind.
func (o Optimizer) used() Optimizer {
	beta2, momentum := 0.95, 0.95
	switch o.Kind {
	case "lion":
		beta2 = 0.99
	case "sgd":
		momentum = 0.9
	}
	set(&o.Beta1, 0.9)
	set(&o.Beta2, beta2)
	set(&o.Epsilon, 1e-8)
	set(&o.Iterations, 5)
	if o.Momentum == nil {
		o.Momentum = &momentum
	}
	return o
}

// used returns the recipe with those defaults, too, that its users fill in: the zero
// value and the default written out are the same run.
func (r *Recipe) used() Recipe {
	u := *r
	u.Optimizer = r.Optimizer.used()
	set(&u.Train.Temperature, tape.Temperature)
	if r.Optimizer.Offload {
		u.Train.Precision = "bf16"
	}
	if c, ok := r.Adapter(); ok {
		u.LoRA.Alpha = c.Alpha
		set(&u.LoRA.Targets, lora.AllLinear)
	}
	if r.Model.From != "" { // which says all of it
		u.Model = Model{Architecture: r.Model.Architecture, From: r.Model.From, GPTQZeros: r.Model.GPTQZeros}
	}
	return u
}

// Rule returns the optimizer's rule.
func (o *Optimizer) Rule() grad.UpdateRule {
	u := o.used()
	adamw := grad.AdamW{Beta1: u.Beta1, Beta2: u.Beta2, Epsilon: u.Epsilon, Decay: u.Decay}
	switch u.Kind {
	case "muon":
		return grad.Muon{Momentum: *u.Momentum, Iterations: u.Iterations, Decay: u.Decay, Rest: adamw}
	case "lion":
		return grad.Lion{Beta1: u.Beta1, Beta2: u.Beta2, Decay: u.Decay}
	case "sgd":
		return grad.SGD{Momentum: *u.Momentum, Decay: u.Decay}
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
