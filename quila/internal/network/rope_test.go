package network

import (
	"errors"
	"math"
	"testing"

	"atenia/quila/internal/weights"
)

func numbers(n int, tick uint64) []float64 {
	x := make([]float64, n)
	weights.Stream{Seed: 5, Tick: tick}.Normal(x)
	return x
}

// TestGradient compares the gradients of every layout with central differences.
func TestGradient(t *testing.T) {
	for _, layout := range []Layout{Kronecker, Axial} {
		for axes := 1; axes <= maxAxes; axes++ {
			c, err := NewRope(24, axes, layout)
			if err != nil {
				t.Fatal(err)
			}
			x, w := numbers(24, 0), numbers(24, 1)
			pos, bases := []uint64{9, 4, 2}[:axes], []float64{9, 4.5, 4}[:axes]
			loss := func() (sum float64) {
				y := make([]float64, 24)
				if err := ApplyRope(c, y, x, pos, bases); err != nil {
					t.Fatal(err)
				}
				for i := range y {
					sum += y[i] * w[i]
				}
				return sum
			}
			y, dx, db := make([]float64, 24), make([]float64, 24), make([]float64, axes)
			if err := ApplyRope(c, y, x, pos, bases); err != nil {
				t.Fatal(err)
			}
			if err := RopeBackward(c, dx, db, y, w, pos, bases); err != nil {
				t.Fatal(err)
			}
			check := func(what string, v, g []float64) {
				for i := range v {
					const h = 1e-6
					old := v[i]
					v[i] = old + h
					up := loss()
					v[i] = old - h
					want := (up - loss()) / (2 * h)
					v[i] = old
					if math.Abs(g[i]-want) > 1e-7*math.Max(1, math.Abs(want)) {
						t.Errorf("%s, %d axes: gradient %s[%d] is %g, want %g", layout, axes, what, i, g[i], want)
					}
				}
			}
			check("x", x, dx)
			check("base", bases, db)
		}
	}
}

// TestFaultsRope checks the errors of dimensions that have no factors and operands
// that have the wrong size.
func TestFaultsRope(t *testing.T) {
	for _, c := range []struct {
		dims, axes int
		layout     Layout
	}{{7, 1, ""}, {0, 1, ""}, {-4, 2, ""}, {2, 2, ""}, {4, 3, ""}, {6, 2, Kronecker}, {64, 0, ""}, {64, 4, ""}, {64, 2, "diagonal"}, {4, 3, Axial}} {
		if _, err := NewRope(c.dims, c.axes, c.layout); !errors.Is(err, errRopeShape) {
			t.Errorf("New(%d, %d, %q) returns %v", c.dims, c.axes, c.layout, err)
		}
	}
	c, err := NewRope(64, 2, Kronecker)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 64)
	two, bases := []uint64{1, 2}, []float64{4, 4}
	for _, err := range []error{
		ApplyRope(c, x[:63], x, two, bases), ApplyRope(c, x, x[:2], two, bases), ApplyRope(c, x, x, two[:1], bases), ApplyRope(c, x, x, two, bases[:1]),
		RopeBackward(c, x[:3], nil, x, x, two, bases), RopeBackward(c, nil, bases[:1], x, x, two, bases), RopeBackward[float64](c, nil, nil, nil, nil, two, bases),
	} {
		if !errors.Is(err, errRopeShape) {
			t.Errorf("got %v, want an error about a shape", err)
		}
	}
}

func BenchmarkApplyRope(b *testing.B) {
	c, err := NewRope(128, 3, Kronecker)
	if err != nil {
		b.Fatal(err)
	}
	x, pos, bases := make([]float32, 128), []uint64{100, 3, 5}, []float64{9, 4.5, 4.5}
	for b.Loop() {
		_ = ApplyRope(c, x, x, pos, bases)
	}
}
