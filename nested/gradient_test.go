package nested_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia/nested"
	"atenia/nested/rule"
)

// eachRule runs f for the nine rules.
func eachRule(t *testing.T, f func(t *testing.T, name rule.Name)) {
	for _, name := range rule.Names() {
		t.Run(string(name), func(t *testing.T) { t.Parallel(); f(t, name) })
	}
}

// TestGradcheckFloat64 compares the gradients of a level with central
// differences, and requires that most of them are large enough to compare.
func TestGradcheckFloat64(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		p := pointOf[float64](t, nested.Config{Rule: name, Periods: []int{1}}, 4)
		eps := 1e-5
		if name == rule.Atlas {
			eps = 1e-6
		}
		d := p.differences(t, p.gradients(t), "levels.", 3, eps, 1e-6, 1e-3)
		if d.wrong > 0 {
			t.Errorf("%d of %d are wrong; %s", d.wrong, d.checked, d.first)
		}
		if 2*d.large < d.checked {
			t.Errorf("only %d of %d gradients are large enough to say anything", d.large, d.checked)
		}
	})
}

// TestGradcheckFloat32 does it in the arithmetic that models train in.
func TestGradcheckFloat32(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		p := pointOf[float32](t, nested.Config{Rule: name, Periods: []int{1}}, 4)
		d := p.differences(t, p.gradients(t), "levels.", 5, 1e-2, 2e-2, 1e-2)
		if d.wrong > 0 {
			t.Errorf("%d of %d are wrong; %s", d.wrong, d.checked, d.first)
		}
		if 2*d.large < d.checked {
			t.Errorf("only %d of %d gradients are large enough to say anything", d.large, d.checked)
		}
	})
}

// analytical are the models whose gradients are compared end to end.
var analytical = map[string]nested.Config{
	"k1":              {},
	"k2-mixed":        {Periods: []int{1, 2}},
	"k4-mixed":        {Periods: []int{1, 2, 1, 2}},
	"mac":             {Composition: nested.MAC, Periods: []int{1, 2}},
	"mal":             {Composition: nested.MAL, Periods: []int{1, 2}},
	"rope":            {RopeBase: 100},
	"persistent":      {Persistent: 3},
	"residual-norm":   {Residual: true, Norm: true, Periods: []int{1, 2}},
	"taps":            {KeyTaps: 3, Periods: []int{1, 2}},
	"two-layers":      {Layers: 2, Residual: true, Norm: true, KeyTaps: 2},
	"mac-everything":  {Composition: nested.MAC, RopeBase: 100, Persistent: 2, Residual: true, Norm: true, KeyTaps: 2, Periods: []int{1, 2}},
	"mal-everything":  {Composition: nested.MAL, RopeBase: 100, Persistent: 2, Residual: true, Norm: true, KeyTaps: 2, Periods: []int{1, 2}},
	"mal-2-residuals": {Composition: nested.MAL, Residual: true, Layers: 2},
}

// TestAnalytical compares the gradient of every parameter of whole models with
// central differences in float64: every rule in the plain compositions, Delta
// in all others.
func TestAnalytical(t *testing.T) {
	t.Parallel()
	for id, c := range analytical {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			names := []rule.Name{rule.Delta}
			if strings.HasPrefix(id, "k") {
				names = rule.Names()
			}
			for _, name := range names {
				t.Run(string(name), func(t *testing.T) {
					c := c
					c.Rule = name
					p := pointOf[float64](t, c, 4)
					eps := 1e-5
					if name == rule.Atlas {
						eps = 1e-6
					}
					step := 5 * len(p.m.Config().Periods)
					d := p.differences(t, p.gradients(t), "", step, eps, 2e-6, 1e-3)
					if d.wrong > 0 {
						t.Errorf("%d of %d are wrong; %s", d.wrong, d.checked, d.first)
					}
				})
			}
		})
	}
	t.Run("learned", func(t *testing.T) {
		t.Parallel()
		eachRule(t, learnedCheck)
	})
}

// learnedCheck compares the straight-through gradient of a learned schedule
// with differences of the relaxed model, in which the mask follows its logit:
// the thresholded one has a derivative of zero, or a jump.
func learnedCheck(t *testing.T, name rule.Name) {
	p := pointOf[float64](t, nested.Config{Rule: name, Periods: []int{1, 1, 1}, Learned: true}, 4)
	g, h, states := p.gradients(t), byHand(p.m), p.states()
	mask := []float64{1, 0, 1}
	at := h.forward(p.ids, p.targets, nil, mask, states).freq
	for l := 1; l < 3; l++ {
		if (at[l] > 0) != (mask[l] == 1) {
			t.Fatalf("schedule %v, want the masks %v", at, mask)
		}
	}
	loss := func() float64 {
		f := h.forward(p.ids, p.targets, nil, mask, states).freq
		relaxed := []float64{1, mask[1] + f[1] - at[1], mask[2] + f[2] - at[2]}
		return h.forward(p.ids, p.targets, nil, relaxed, states).loss
	}
	eps := 1e-5
	if name == rule.Atlas {
		eps = 1e-6
	}
	checked := 0
	for _, q := range p.m.Params() {
		for i := 0; i < len(q.Value); i += 7 {
			old := q.Value[i]
			q.Value[i] = old + eps
			hi := loss()
			q.Value[i] = old - eps
			lo := loss()
			q.Value[i] = old
			fd, got := (hi-lo)/(2*eps), g[p.m.Offset(q.Name)+i]
			checked++
			if off := max(fd-got, got-fd); !(off <= 2e-6*max(got, -got, 1e-3)) {
				t.Fatalf("%s[%d]: gradient %g, difference %g", q.Name, i, got, fd)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d entries were compared", checked)
	}
}

// TestIntegration compares the tape's gradients with those of a backward pass
// written out by hand, which orders its sums in another way.
func TestIntegration(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		for _, k := range []int{1, 2, 4} {
			for _, mixed := range []bool{false, true} {
				id := fmt.Sprintf("k%d-all", k)
				if mixed {
					id = fmt.Sprintf("k%d-mixed", k)
				}
				t.Run(id+"-float64", func(t *testing.T) { integrate[float64](t, name, k, mixed, 1e-12) })
				tol := 1e-5
				if name == rule.Atlas || name == rule.Trellis {
					tol = 1e-3 // Newton–Schulz magnifies rounding
				}
				t.Run(id+"-float32", func(t *testing.T) { integrate[float32](t, name, k, mixed, tol) })
			}
		}
	})
}

func integrate[F float32 | float64](t *testing.T, name rule.Name, k int, mixed bool, tol float64) {
	p := pointOf[F](t, nested.Config{Rule: name, Periods: []int{1, 2, 1, 2}[:k]}, 5)
	for l := range p.active {
		p.active[l] = p.active[l] || !mixed
	}
	if mixed && k == 1 {
		p.active[0] = false
	}
	got := p.gradients(t)
	h, states := byHand(p.m), p.states()
	want := h.backward(h.forward(p.ids, p.targets, p.active, nil, states), states)
	for _, q := range p.m.Params() {
		if strings.Contains(q.Name, "levels.") {
			continue
		}
		at := p.m.Offset(q.Name)
		near(t, q.Name, got[at:at+len(q.Value)], doubles(want[q.Name]), tol)
	}
	for l := range k {
		at := p.m.Offset(fmt.Sprintf("layers.0.levels.%d.W_K", l))
		w := want[fmt.Sprintf("level %d", l)]
		near(t, fmt.Sprintf("level %d", l), got[at:at+len(w)], doubles(w), tol)
	}
}

func doubles[F float32 | float64](v []F) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// TestOneTap convolves keys over one token, which is the identity: every rule
// must give the same result as without.
func TestOneTap(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		plain := pointOf[float64](t, nested.Config{Rule: name, Periods: []int{1, 2}}, 5)
		tapped := pointOf[float64](t, nested.Config{Rule: name, Periods: []int{1, 2}, KeyTaps: 1}, 5)
		for _, q := range plain.m.Params() {
			r, _ := tapped.m.Param(q.Name)
			copy(r.Value, q.Value)
		}
		tapped.ids, tapped.targets = plain.ids, plain.targets
		for l := range 2 {
			copy(tapped.ctx.State(0, l), plain.ctx.State(0, l))
		}
		want, got := plain.gradients(t), tapped.gradients(t)
		tol := 1e-12
		if name == rule.Atlas {
			tol = 1e-9
		}
		for _, q := range plain.m.Params() {
			at, bt := plain.m.Offset(q.Name), tapped.m.Offset(q.Name)
			near(t, q.Name, got[bt:bt+len(q.Value)], want[at:at+len(q.Value)], tol)
		}
	})
}
