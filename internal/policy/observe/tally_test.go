package observe

import (
	"errors"
	"testing"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/place"
	"atenia/internal/sched"
)

// TestDelaysLost: a sum of delays that falls lost that of a thread that ended. Then what
// it says of a run is not known, whatever it says later. What others had of the
// processors is told of the same steps.
func TestDelaysLost(t *testing.T) {
	x := Tally{}
	x.delayed(waited{cpu.Delays{All: 5 * time.Second}, 90 * time.Second}, true, 0)
	x.phase = time.Second
	x.delayed(waited{cpu.Delays{All: 6 * time.Second}, 94 * time.Second}, true, time.Second)
	if !x.Delays || x.Delayed != 500*time.Millisecond || x.Taken != 2*time.Second {
		t.Fatalf("steps that decoded were delayed for %v, others had processors for %v, known is %v, want half of 1 s and of 4 s", x.Delayed, x.Taken, x.Delays)
	}
	x.phase = time.Second
	x.delayed(waited{cpu.Delays{All: 2 * time.Second}, 93 * time.Second}, true, 0) // less, by rounding
	if x.Taken != 2*time.Second {
		t.Errorf("others had processors for %v, want 2 s", x.Taken)
	}
	x.phase = time.Second
	x.delayed(waited{cpu.Delays{All: 7 * time.Second}, 93 * time.Second}, true, 0)
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

// TestStoppedIsNotFailed: a step that was abandoned, to be computed again, did not fail.
func TestStoppedIsNotFailed(t *testing.T) {
	x := Tally{}
	for _, stopped := range []bool{true, false, true} {
		x.count(&sched.StepInfo{Err: errors.New("x"), Stopped: stopped}, &Account{})
	}
	if x.Failed != 1 {
		t.Errorf("%d steps failed, want 1", x.Failed)
	}
}

// TestAsOpened: steps are as the model was opened until weights move, wherever they move to
// and however often; a prompt's are none of them.
func TestAsOpened(t *testing.T) {
	x, opened := Tally{}, &place.Placement{}
	step := func(decode bool) {
		x.count(&sched.StepInfo{Decode: decode, Took: 5, Threads: 1, Rows: 1, Start: time.Now()}, &Account{})
	}
	x.begin(&Account{Placement: opened})
	step(false)
	step(true)
	step(true)
	for range 2 {
		x.begin(&Account{Placement: &place.Placement{}})
		step(true)
	}
	if x.Opened != opened || x.AsOpened.Steps != 2 || x.AsOpened.Took != 10 || x.Decode.Steps != 4 {
		t.Errorf("%d of %d steps in %v were as opened, of the opened placement is %t, want 2 of 4 in 10ns", x.AsOpened.Steps, x.Decode.Steps, x.AsOpened.Took, x.Opened == opened)
	}
}
