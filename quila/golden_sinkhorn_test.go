package quila_test

import (
	"math"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/neuron"
)

func init() { topics["sinkhorn"] = goldenSinkhorn }

// flat is a nested list of numbers, flattened; "inf", "-inf" and "nan" are
// numbers too.
func flat(t *testing.T, x any) []float64 {
	t.Helper()
	switch x := x.(type) {
	case float64:
		return []float64{x}
	case bool:
		if x {
			return []float64{1}
		}
		return []float64{0}
	case string:
		if v, ok := map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[x]; ok {
			return []float64{v}
		}
	case []any:
		var out []float64
		for _, y := range x {
			out = append(out, flat(t, y)...)
		}
		return out
	}
	t.Fatalf("%v is not a number", x)
	return nil
}

// near reports the first value that differs by more than tol times the largest
// entry of what is wanted, with an absolute floor.
func near[F float32 | float64](t *testing.T, what string, got []F, want []float64, tol, floor float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d values, want %d", what, len(got), len(want))
		return
	}
	var largest float64
	for _, w := range want {
		if !math.IsInf(w, 0) {
			largest = math.Max(largest, math.Abs(w))
		}
	}
	limit := math.Max(tol*largest, floor)
	for i, w := range want {
		g := float64(got[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if !(math.Abs(g-w) <= limit) {
			t.Errorf("%s[%d] is %.17g, want %.17g within %.2g", what, i, g, w, limit)
			return
		}
	}
}

// narrow converts to float32.
func narrow(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func goldenSinkhorn(t *testing.T, path string) {
	var file struct{ Cases []map[string]any }
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		w, g := flat(t, c["W"]), flat(t, c["G"])
		n := int(math.Sqrt(float64(len(w))))
		limit := 2.0
		if v, ok := c["w_max"].(float64); ok {
			limit = v
		}
		h := make([]float64, n*n)
		neuron.Sinkhorn(h, w, n, 20, limit)
		near(t, "H", h, flat(t, c["H"]), 1e-10, 0)
		h32 := make([]float32, n*n)
		neuron.Sinkhorn(h32, narrow(w), n, 20, float32(limit))
		near(t, "H in float32", h32, flat(t, c["H"]), 5e-5, 0)
		two := make([]float64, n*n)
		neuron.Sinkhorn(two, w, n, 2, limit)
		near(t, "H after 2", two, flat(t, c["H_literal_2"]), 1e-10, 0)
		for key, mode := range map[string]neuron.SinkhornMode{"grad_plain": neuron.Plain, "grad_centred": neuron.Centred, "grad_exact": neuron.Exact} {
			d := make([]float64, n*n)
			neuron.SinkhornBackward(d, g, h, w, n, 20, limit, mode)
			near(t, key, d, flat(t, c[key]), 1e-9, 1e-12)
		}
	}
}
