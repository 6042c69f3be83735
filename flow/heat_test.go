package flow_test

import (
	"math"
	"strings"
	"testing"

	"atenia/flow"
)

// TestMeter checks sums, their precision, what is ignored and the note of a
// delay that was declared too small.
func TestMeter(t *testing.T) {
	t.Run("A16", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"n"})
		for range 10_000_000 {
			m.Add(0, flow.Forward, float64(float32(0.1)))
		}
		if got := m.Joules(flow.Forward); math.Abs(got-1_000_000.01) > 0.1 {
			t.Errorf("%.2f J, want 1000000.01", got)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"a", "b"})
		for _, h := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), -0.25} {
			m.Add(1, flow.Backward, h)
		}
		r := m.Report()
		if r.Joules != [2]float64{0, 0.75} || r.Nodes[1].Joules != [2]float64{0, 0.75} || r.Ignored != 3 || r.Nodes[1].Calls[flow.Backward] != 5 {
			t.Errorf("%+v", r)
		}
		m.Reset()
		if r := m.Report(); r.Joules != [2]float64{} || r.Ignored != 0 {
			t.Errorf("after Reset: %+v", r)
		}
	})
	t.Run("delay", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"a"})
		first := []bool{m.Delay(0, 10, 10), m.Delay(0, 37, 10), m.Delay(0, 38, 10)}
		if first[0] || !first[1] || first[2] {
			t.Errorf("under-declared at %v, want only the second", first)
		}
		if s := m.Report().String(); !strings.Contains(s, "38 under-declared") {
			t.Errorf("no note of the delay:\n%s", s)
		}
	})
	t.Run("allocations", func(t *testing.T) {
		m := flow.NewMeter([]string{"a"})
		if n := testing.AllocsPerRun(100, func() { m.Add(0, flow.Forward, 1); m.Delay(0, 1, 2); m.Time(0, flow.Forward, 3) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
