package grad_test

import (
	"fmt"

	"atenia/grad"
)

// The minimum of (w₀−1)² + (w₁+2)² is found by AdamW with a learning rate that
// falls, and gradients whose norm is kept at 5.
func Example_optim() {
	w := &grad.Param[float64]{Name: "w", Shape: []int{2}, Value: make([]float64, 2), Grad: make([]float64, 2)}
	params := []*grad.Param[float64]{w}
	o, err := grad.NewOptimizer(grad.AdamW{Beta2: 0.99}, params, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	meter := grad.NewNorm[float64](nil)
	schedule := grad.Schedule{Curve: grad.Linear, Steps: 300, Warmup: 10}
	for step := range schedule.Steps {
		w.Grad[0], w.Grad[1] = 2*(w.Value[0]-1), 2*(w.Value[1]+2)
		o.Step(0.1*schedule.Share(step), grad.ClipFactor(meter.Of(params), 5))
	}
	fmt.Printf("%.3f %.3f\n", w.Value[0], w.Value[1])
	// Output: 1.000 -2.000
}
