package quila_test

import (
	"fmt"
	"math"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/network"
)

func init() { topics["rope"] = goldenRope }

func goldenRope(t *testing.T, path string) {
	var file struct {
		Splits map[string][]int
		Cases  []struct {
			D    int
			Pos  []uint64
			Base []float64
			X    []float64
			Y    []float64
			W    []float64
			Grad []float64 `json:"grad_log_base"`
		}
	}
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 || len(file.Splits) == 0 {
		t.Fatal("no cases")
	}
	for key, want := range file.Splits {
		var d, axes int
		if _, err := fmt.Sscanf(key, "%d,%d", &d, &axes); err != nil {
			t.Fatal(err)
		}
		c, err := network.NewRope(d, axes, network.Kronecker)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range want {
			if c.Part(i) != n {
				t.Errorf("axis %d of %s has %d dimensions, want %d", i, key, c.Part(i), n)
			}
		}
	}
	for i, k := range file.Cases {
		name := fmt.Sprintf("case %d, %d dimensions at %v: ", i, k.D, k.Pos)
		c, err := network.NewRope(k.D, len(k.Pos), network.Kronecker)
		if err != nil {
			t.Fatal(err)
		}
		bases := make([]float64, len(k.Base))
		for i, b := range k.Base {
			bases[i] = math.Log(b)
		}
		y, db := make([]float64, k.D), make([]float64, len(k.Base))
		if err := network.ApplyRope(c, y, k.X, k.Pos, bases); err != nil {
			t.Fatal(err)
		}
		near(t, name+"y", y, k.Y, 1e-10, 0)
		if err := network.RopeBackward(c, nil, db, y, k.W, k.Pos, bases); err != nil {
			t.Fatal(err)
		}
		// An angle of p radians is rounded by p·2⁻⁵³, and the gradient has terms of
		// that size times p.
		var rounding float64
		for _, p := range k.Pos {
			rounding = max(rounding, 0x1p-53*float64(p)*float64(p))
		}
		near(t, name+"gradient of log bases", db, k.Grad, 1e-10, rounding)
		y32 := make([]float32, k.D)
		clear(db)
		if err := network.ApplyRope(c, y32, narrow(k.X), k.Pos, bases); err != nil {
			t.Fatal(err)
		}
		near(t, name+"y in float32", y32, k.Y, 5e-5, 0)
		if err := network.RopeBackward(c, nil, db, y32, narrow(k.W), k.Pos, bases); err != nil {
			t.Fatal(err)
		}
		near(t, name+"gradient of log bases in float32", db, k.Grad, 2e-4, 1e-7)
	}
}
