package quila_test

import (
	"fmt"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
)

func init() { topics["adam"] = goldenAdam }

func goldenAdam(t *testing.T, path string) {
	var file struct{ Cases []map[string]any }
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		adam[float64](t, c, 1e-10, 1e-14)
		adam[float32](t, c, 5e-5, 1e-7)
	}
}

// adam takes the steps of a case. The reference decays a vector, which the
// optimizer does only for tensors of two axes; so it is a row here.
func adam[F grad.Float](t *testing.T, c map[string]any, tol, floor float64) {
	t.Helper()
	to := func(x []float64) []F {
		out := make([]F, len(x))
		for i, v := range x {
			out[i] = F(v)
		}
		return out
	}
	one := func(key string) float64 { return flat(t, c[key])[0] }
	beta, w := flat(t, c["beta"]), to(flat(t, c["w"]))
	p := &grad.Param[F]{Name: "w", Shape: []int{1, len(w)}, Value: w, Grad: make([]F, len(w))}
	opt, err := grad.NewOptimizer[F](grad.AdamW{Beta1: beta[0], Beta2: beta[1], Epsilon: one("eps"), Decay: one("weight_decay")}, []*grad.Param[F]{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	grads, after := c["grads"].([]any), c["after"].([]any)
	for i := range grads {
		copy(p.Grad, to(flat(t, grads[i])))
		opt.Step(one("lr"), 1)
		near(t, fmt.Sprintf("weights after step %d", i+1), w, flat(t, after[i]), tol, floor)
	}
	near(t, "m", opt.State(0)[0], flat(t, c["m"]), tol, floor)
	near(t, "v", opt.State(0)[1], flat(t, c["v"]), tol, floor)
}
