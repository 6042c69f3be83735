package grid_test

import (
	"errors"
	"math"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/grid"
)

// TestEpisodeSize: a gradient that does not fit is an error and adds nothing.
func TestEpisodeSize(t *testing.T) {
	e := grid.NewEpisode(.9, 3)
	err := e.Decide([]float64{1, 2})
	if size := (*grid.CreditSizeError)(nil); !errors.As(err, &size) || size.Want != 3 || size.Got != 2 {
		t.Errorf("two values for three parameters: %v", err)
	}
	for _, x := range e.Eligibility {
		if x != 0 {
			t.Errorf("eligibility %v", e.Eligibility)
		}
	}
}

// TestTraces: a neuron's trace is the mean of its groups, and shares without a
// trace are 1.
func TestTraces(t *testing.T) {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	tr := grid.NewCredit(&c, 2)
	if s := tr.Share(grid.WIn, 3); s != 1 {
		t.Errorf("a share of no trace is %v", s)
	}
	a := make([]float64, grid.Groups*c.N)
	a[int(grid.B)*c.N+3], a[int(grid.Conf)*c.N+3] = 7, 14
	tr.Update(a, make([]float64, c.N))
	if got := tr.Neuron(3); math.Abs(got-3) > 1e-12 || tr.Neuron(2) != 0 {
		t.Errorf("the trace of neuron 3 is %v, of 2 %v", got, tr.Neuron(2))
	}
	if got := tr.Share(grid.B, 3); got != float64(c.N) {
		t.Errorf("the only trace of a group has the share %v of %d", got, c.N)
	}
}
