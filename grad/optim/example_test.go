package optim_test

import (
	"fmt"

	"atenia/grad/optim"
)

// The minimum of (w₀−1)² + (w₁+2)² is found by AdamW with a learning rate that
// falls, and gradients whose norm is kept at 5.
func Example() {
	w := &optim.Param[float64]{Name: "w", Shape: []int{2}, Value: make([]float64, 2), Grad: make([]float64, 2)}
	params := []*optim.Param[float64]{w}
	o, err := optim.New(optim.AdamW{Beta2: 0.99}, params, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	meter := optim.NewMeter[float64](nil)
	schedule := optim.Schedule{Curve: optim.Linear, Steps: 300, Warmup: 10}
	for step := range schedule.Steps {
		w.Grad[0], w.Grad[1] = 2*(w.Value[0]-1), 2*(w.Value[1]+2)
		o.Step(0.1*schedule.Share(step), optim.Clip(meter.Norm(params), 5))
	}
	fmt.Printf("%.3f %.3f\n", w.Value[0], w.Value[1])
	// Output: 1.000 -2.000
}
