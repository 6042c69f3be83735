package compile

import (
	"fmt"
	"slices"
)

// Check reports every invalid field through bad: the field, what is wanted and
// what it is. head is the width of a head, most the longest permitted context.
func (r *RotaryTable) Check(head, most int, bad func(field, want string, got any)) {
	positive := func(field string, v float32) {
		if !(v > 0 && v < 1e30) {
			bad(field, "a number above 0", v)
		}
	}
	divisors := func(field string, v []float32) {
		if len(v) != r.Dim/2 {
			bad(field, fmt.Sprintf("%d values", r.Dim/2), fmt.Sprintf("%d", len(v)))
		}
		if slices.ContainsFunc(v, func(x float32) bool { return !(x > 0 && x < 1e30) }) {
			bad(field, "numbers above 0", "another")
		}
	}
	if r.Dim < 2 || r.Dim%2 != 0 || r.Dim > head {
		bad("rotated elements", fmt.Sprintf("an even number from 2 to %d", head), r.Dim)
	}
	if !(r.Theta > 1 && r.Theta < 1e30) {
		bad("base", "a number above 1", r.Theta)
	}
	positive("scale of cos and sin", r.Scale)
	if _, ok := tables[r.Scaling]; !ok {
		bad("type", "default, linear, dynamic, llama3, yarn or longrope", fmt.Sprintf("%q", r.Scaling))
		return
	}
	if r.Original < 0 || r.Original > most {
		bad("original context length", fmt.Sprintf("0 to %d", most), r.Original)
	}
	switch r.Scaling {
	case Linear, Dynamic, Llama3, Yarn:
		positive("factor", r.Factor)
	}
	switch r.Scaling {
	case Dynamic, Llama3, Yarn, Long:
		if r.Original < 1 {
			bad("original context length", "above 0", r.Original)
		}
	}
	switch r.Scaling {
	case Dynamic:
		if r.Dim == 2 {
			bad("rotated elements", "more than 2 for dynamic scaling", r.Dim)
		}
	case Llama3:
		positive("low_freq_factor", r.Low)
		if !(r.High > r.Low && r.High < 1e30) {
			bad("high_freq_factor", "more than low_freq_factor", r.High)
		}
	case Yarn:
		positive("beta_fast", r.BetaFast)
		positive("beta_slow", r.BetaSlow)
	case Long:
		divisors("short factors", r.Short)
		divisors("long factors", r.Long)
	case Divided:
		divisors("factors", r.Short)
	case Listed:
		if len(r.Table) != r.Dim/2 {
			bad("table", fmt.Sprintf("%d values", r.Dim/2), len(r.Table))
		}
	}
}
