package rule_test

import (
	"fmt"

	"atenia/grad"
	"atenia/nested/rule"
)

// A memory is written by reading a chunk; a frozen read asks it afterwards.
func Example() {
	b, err := rule.New[float32](rule.Delta, 8, rule.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const tokens = 4
	r, w := rule.NewRand(1), grad.NewWork[float32](nil)
	p, x := make([]float32, b.ParamLen), make([]float32, tokens*b.D)
	rule.InitParams(b.Layout, p, 0, r)
	rule.Uniform(r, x, 1)
	s, next, y := make([]float32, b.StateLen), make([]float32, b.StateLen), make([]float32, len(x))
	b.InitState(s, r)
	b.Forward(w, x, p, s, y, next, nil)

	q, norms, frozen := make([]float32, tokens*b.DK), make([]float32, tokens), make([]float32, len(y))
	b.Query(w, x, rule.Param(b.Layout, p, "W_Q"), q, norms)
	b.Read(w, next, q, frozen)
	last := (tokens - 1) * b.D
	d := y[last] - frozen[last]
	fmt.Println("the last token is answered from the last state:", d*d < 1e-10)
	fmt.Println("state:", b.State[0].Name, b.State[0].Shape)
	// Output:
	// the last token is answered from the last state: true
	// state: M [8 8]
}
