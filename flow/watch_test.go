package flow

import "testing"

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWatch(2, 100, 0, nil)
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
	for range patience {
		w.Late(1, 1000)
	}
	if !w.Suspended(1) {
		t.Error("not suspended")
	}
	if w.Reset(); w.Suspended(1) {
		t.Error("suspended after a reset")
	}
	free := newWatch(1, 0, 0, nil)
	for range 5 {
		if free.Late(0, 1<<40) || free.Suspended(0) {
			t.Error("late without a limit")
		}
	}
	var none *watch
	if none.Reset(); none.Limits() || none.Suspended(0) {
		t.Error("a watch that is not there limits")
	}
}

// TestBackOff: a suspended node is called again after a number of blocks that doubles, and is forgiven after a long time
// without a fault.
func TestBackOff(t *testing.T) {
	t.Parallel()
	w := newWatch(2, 100, 5, nil)
	turns := func(most int) (n int) { // until something is reported
		for told := false; !told && n < most; n++ {
			w.Turn(func(node, blocks int) {
				if told = true; node != 1 {
					t.Errorf("node %d", node)
				}
			})
		}
		return n
	}
	for k, want := range []int{5, 10, 20, 40, 80, 160, 320, 320, 320} {
		for range patience {
			w.Late(1, 101)
		}
		if n := turns(1); n != 1 || !w.Suspended(1) {
			t.Fatal(k, n)
		}
		if n := turns(10000); n != want || w.Suspended(1) {
			t.Errorf("suspension %d: %d blocks, want %d", k, n, want)
		}
	}
	turns(320)
	for range patience {
		w.Late(1, 101)
	}
	turns(1)
	if n := turns(10000); n != 5 {
		t.Errorf("%d blocks after a long time without a fault", n)
	}
}
