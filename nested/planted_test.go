package nested_test

import (
	"testing"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/nested"
	"atenia/nested/rule"
)

// A mutant is an error planted in a backward function.
type mutant struct {
	name string
	key  grad.Key
	back func(real grad.BackwardFunc[float64]) grad.BackwardFunc[float64]
}

// nothing gives no gradient at all.
func nothing(grad.BackwardFunc[float64]) grad.BackwardFunc[float64] {
	return func(*grad.OpaqueBack[float64]) {}
}

// plantedDelta is the delta rule's backward pass with errors chosen by name;
// with none it is right.
func plantedDelta(name string) func(grad.BackwardFunc[float64]) grad.BackwardFunc[float64] {
	return func(grad.BackwardFunc[float64]) grad.BackwardFunc[float64] {
		return func(o *grad.OpaqueBack[float64]) {
			b, err := rule.New[float64](rule.Delta, 8, rule.Config{})
			if err != nil {
				panic(err)
			}
			b.Core = delta{b.Core, name}
			T := len(o.In(0)) / 8
			cache := b.Cut(nil, T, make([]float64, b.CacheLen(T)))
			b.Forward(o.Work(), o.In(0), o.In(1), o.In(2), make([]float64, T*8), make([]float64, 64), cache)
			b.Backward(o.Work(), o.In(0), o.In(1), o.In(2), cache, o.DOut(0), nil, o.DIn(0), o.DIn(1), o.DIn(2))
		}
	}
}

// delta is the delta rule written down once more, errors included.
type delta struct {
	rule.Rule[float64]
	planted string
}

func (d delta) Backward(_ *grad.Work[float64], in *rule.Tokens[float64], s0 []float64, _ [][]float64, dy, _ []float64, g *rule.Tokens[float64], ds0 []float64) {
	T, n := in.T, 8
	row := func(v []float64, t int) []float64 { return v[t*n:][:n] }
	states, errs := [][]float64{s0}, [][]float64{}
	for t := range T {
		m, e := append([]float64(nil), states[t]...), make([]float64, n)
		dense.MatVec(e, m, row(in.K, t))
		dense.Axpy(e, -1, row(in.V, t))
		dense.ScaleAddOuter(m, 1-in.Gate[rule.Alpha][t], -in.Gate[rule.Theta][t], e, row(in.K, t))
		states, errs = append(states, m), append(errs, e)
	}
	dm := make([]float64, n*n)
	for t := T - 1; t >= 0; t-- {
		k, e, th := row(in.K, t), errs[t], in.Gate[rule.Theta][t]
		dense.AddOuter(dm, 1, row(dy, t), row(in.Q, t))
		dense.MatVecT(row(g.Q, t), states[t+1], row(dy, t))
		g.Gate[rule.Alpha][t] = -dense.Dot(dm, states[t])
		if d.planted == "the sign of alpha" {
			g.Gate[rule.Alpha][t] *= -1
		}
		u, dk := make([]float64, n), row(g.K, t)
		dense.MatVec(u, dm, k)
		g.Gate[rule.Theta][t] = -dense.Dot(e, u)
		dense.Scale(u, -th) // the adjoint of e
		dense.MatVecT(dk, dm, e)
		dense.Scale(dk, -th)
		if d.planted != "keys without the error's part" {
			dense.AddMatVecT(dk, states[t], u)
		}
		for i, x := range u {
			row(g.V, t)[i] = -x
		}
		dense.Scale(dm, 1-in.Gate[rule.Alpha][t])
		if d.planted != "memory without the error's part" {
			dense.AddOuter(dm, 1, u, k)
		}
	}
	if ds0 != nil {
		dense.Add(ds0, dm)
	}
}

// TestPlantedErrors plants errors in backward functions: the comparison with
// differences that passes without them fails with each.
func TestPlantedErrors(t *testing.T) {
	t.Parallel()
	c := nested.Config{Rule: rule.Delta, Periods: []int{1, 2}}
	backward := func(f func(o *grad.OpaqueBack[float64], real grad.BackwardFunc[float64])) func(grad.BackwardFunc[float64]) grad.BackwardFunc[float64] {
		return func(real grad.BackwardFunc[float64]) grad.BackwardFunc[float64] {
			return func(o *grad.OpaqueBack[float64]) { f(o, real) }
		}
	}
	for _, m := range []mutant{
		{"none", rule.Delta.Key(), plantedDelta("none")},
		{"no gradient of a level", rule.Delta.Key(), nothing},
		{"keys without the error's part", rule.Delta.Key(), plantedDelta("keys without the error's part")},
		{"memory without the error's part", rule.Delta.Key(), plantedDelta("memory without the error's part")},
		{"the sign of alpha", rule.Delta.Key(), plantedDelta("the sign of alpha")},
		{"no gradient of a frozen level", rule.Delta.FrozenKey(), nothing},
		{"attention's values forgotten", "nested.attention", backward(func(o *grad.OpaqueBack[float64], real grad.BackwardFunc[float64]) {
			real(o)
			clear(o.DIn(2))
		})},
		{"attention's sign", "nested.attention", backward(func(o *grad.OpaqueBack[float64], real grad.BackwardFunc[float64]) {
			real(o)
			dense.Scale(o.DIn(0), -1)
		})},
		{"no gradient of taps", "nested.taps", nothing},
	} {
		t.Run(m.name, func(t *testing.T) {
			c := c
			if m.key == "nested.taps" {
				c.KeyTaps = 2
			}
			p := pointOf[float64](t, c, 4)
			p.m.Replace(m.key, m.back)
			d := p.differences(t, p.gradients(t), "", 3, 1e-5, 2e-6, 1e-3)
			if (d.wrong > 0) == (m.name == "none") {
				t.Errorf("%d of %d entries are wrong; %s", d.wrong, d.checked, d.first)
			}
		})
	}
}
