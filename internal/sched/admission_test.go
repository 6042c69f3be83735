package sched

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// ask returns a request that waits in a queue.
func ask(t *testing.T, a *admission, r Request, steps uint64) *Stream {
	t.Helper()
	st := &Stream{req: r}
	if !a.enqueue(st, steps) {
		t.Fatalf("request %s is refused", r.ID)
	}
	return st
}

func ids(list []*Stream) (out []string) {
	for _, st := range list {
		out = append(out, st.req.ID)
	}
	return out
}

// TestAdmissionQueue: requests wait in the order in which they come, one that had a slot
// comes first, cancelled ones leave, and none comes in once the scheduler is closed.
func TestAdmissionQueue(t *testing.T) {
	a := newAdmission()
	first, second, third := ask(t, &a, Request{ID: "1"}, 0), ask(t, &a, Request{ID: "2"}, 0), ask(t, &a, Request{ID: "3"}, 0)
	before := a.waiting()
	a.dequeue(second)
	if got := ids(before); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("what the loop reads without the lock became %v", got)
	}
	a.requeue(second)
	if got := ids(a.waiting()); !slices.Equal(got, []string{"2", "1", "3"}) {
		t.Errorf("%v wait, want the one that had a slot first", got)
	}
	why := context.Canceled
	third.cancelled.Store(&why)
	if got := a.takeCancelled(); len(got) != 1 || got[0] != third {
		t.Errorf("%v are taken as cancelled, want 3", ids(got))
	}
	crash := errors.New("a step panicked")
	if got := ids(a.drain(crash)); !slices.Equal(got, []string{"2", "1"}) || !a.isClosed() {
		t.Errorf("%v waited, closed %t", got, a.isClosed())
	}
	if a.enqueue(first, 0) || len(a.waiting()) != 0 || a.ending() != crash {
		t.Errorf("after a crash %v wait, because of %v", ids(a.waiting()), a.ending())
	}
	closed := newAdmission()
	closed.close()
	if closed.enqueue(first, 0) || !errors.Is(closed.ending(), ErrClosed) {
		t.Errorf("a closed one takes requests, or says %v", closed.ending())
	}
}

// TestAdmissionOrder: the level decides, then what the client was given, then arrival;
// and waiting raises the level.
func TestAdmissionOrder(t *testing.T) {
	a := newAdmission()
	greedy := ask(t, &a, Request{ID: "greedy", Client: "a"}, 0)
	ask(t, &a, Request{ID: "modest", Client: "b"}, 0)
	ask(t, &a, Request{ID: "late", Client: "b"}, 0)
	ask(t, &a, Request{ID: "urgent", Client: "a", Priority: 1}, ageSteps)
	greedy.client.tokens.Store(10)
	for _, want := range []struct {
		steps uint64
		order []string
	}{
		{ageSteps, []string{"modest", "late", "greedy", "urgent"}}, // those that waited rose to its level
		{ageSteps - 1, []string{"urgent", "modest", "late", "greedy"}},
	} {
		for _, st := range a.waiting() {
			st.deferred, st.came = false, min(st.came, want.steps)
		}
		var got []string
		for st := first(a.waiting(), want.steps); st != nil; st = first(a.waiting(), want.steps) {
			got, st.deferred = append(got, st.req.ID), true
		}
		if !slices.Equal(got, want.order) {
			t.Errorf("after %d steps %v, want %v", want.steps, got, want.order)
		}
	}
}

// TestAdmissionVictim: memory is taken from who was admitted after, by rank, and from
// those whose readers are behind.
func TestAdmissionVictim(t *testing.T) {
	pool := newPool(t, descriptors()[0])
	a := newAdmission()
	add := func(id int, rank int64) *slot {
		sl := &slot{id: id, st: &Stream{}, states: []*State{newState(t, pool)}}
		if err := sl.states[0].Extend(1); err != nil {
			t.Fatal(err)
		}
		a.slots = append(a.slots, sl)
		a.admit(sl, rank)
		return sl
	}
	low, old, young := add(0, 5), add(1, 0), add(2, 0)
	if !slices.Equal(a.slots, []*slot{old, young, low}) {
		t.Fatal("slots are not in the order of rank and admission")
	}
	idle := &slot{id: 3, states: []*State{newState(t, pool)}}
	a.slots = append(a.slots, idle)
	for _, c := range []struct{ of, want *slot }{{old, low}, {young, low}, {low, nil}} {
		if got := a.victim(c.of); got != c.want {
			t.Errorf("for slot %d: %v", c.of.id, got)
		}
	}
	old.blocked = true
	if got := a.victim(low); got != old {
		t.Errorf("the reader of slot 1 is behind, and its memory stays")
	}
	if got := a.leastRecent(func(sl *slot) bool { return !sl.idle() }); got != low {
		t.Errorf("slot %d was used least recently, want that of the first admission", got.id)
	}
}
