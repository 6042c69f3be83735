package observe

import (
	"testing"
	"time"

	"atenia/internal/sched"
)

// TestDelaysLost: a sum of delays that falls lost that of a thread that ended. Then what
// it says of a run is not known, whatever it says later.
func TestDelaysLost(t *testing.T) {
	x := Tally{}
	x.delayed(5*time.Second, true, 0)
	x.phase = time.Second
	x.delayed(6*time.Second, true, time.Second)
	if !x.Delays || x.Delayed != 500*time.Millisecond {
		t.Fatalf("steps that decoded were delayed for %v, known is %v, want half of 1 s", x.Delayed, x.Delays)
	}
	x.phase = time.Second
	x.delayed(2*time.Second, true, 0)
	x.phase = time.Second
	x.delayed(7*time.Second, true, 0)
	if x.Delays {
		t.Error("a sum that fell is told as if it was known")
	}
}

// TestSlowestHasDrafting: the slowest of steps is one of those whose sum is told: with
// what drafting took, as threads were offered that time, too.
func TestSlowestHasDrafting(t *testing.T) {
	x := Tally{}
	for _, p := range []sched.StepInfo{{Took: 30, Drafting: 1}, {Took: 20, Drafting: 40}, {Took: 25}} {
		p.Decode, p.Threads, p.Rows, p.Start = true, 2, 1, time.Now()
		x.count(&p, &Account{})
	}
	s := x.Decode
	if s.Slowest != 60 || s.At != 1 || s.Took != 116 || s.Slowest*time.Duration(s.Steps) < s.Took {
		t.Errorf("%+v", s)
	}
	if x.phase != 2*116 {
		t.Errorf("threads were offered %v ns, want 2 × 116", int64(x.phase))
	}
}
