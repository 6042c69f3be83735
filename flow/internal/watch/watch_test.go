package watch

import "testing"

func TestWatch(t *testing.T) {
	t.Parallel()
	w := New(2, 100, nil)
	if a, b := w.Now(), w.Now(); b < a {
		t.Errorf("the clock went back from %d to %d", a, b)
	}
	for i, c := range []struct {
		ns              int64
		late, suspended bool
	}{{100, false, false}, {101, true, false}, {500, true, false}, {1, false, false}, {101, true, false}, {101, true, false}, {101, true, true}} {
		if late := w.Late(0, c.ns); late != c.late || w.Suspended(0) != c.suspended || w.Suspended(1) {
			t.Errorf("call %d: late %v, suspended %v", i, late, w.Suspended(0))
		}
	}
	w.Resume(0)
	if w.Suspended(0) {
		t.Error("not resumed")
	}
	for range Patience {
		w.Late(1, 1000)
	}
	if !w.Suspended(1) {
		t.Error("not suspended")
	}
	if w.Reset(); w.Suspended(1) {
		t.Error("suspended after a reset")
	}
	free := New(1, 0, nil)
	for range 5 {
		if free.Late(0, 1<<40) || free.Suspended(0) {
			t.Error("late without a limit")
		}
	}
	var none *Watch
	if none.Reset(); none.Limits() || none.Suspended(0) {
		t.Error("a watch that is not there limits")
	}
}
