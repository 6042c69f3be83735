package sched

import (
	"context"
	"testing"
)

// TestBatchStops: a step in flight stops when the last of its requests is cancelled or
// the scheduler is closed, and one that has ended does not.
func TestBatchStops(t *testing.T) {
	why := context.Canceled
	for _, c := range []struct {
		name string
		then func(a *admission, one, two *Stream)
		stop bool
	}{
		{"nothing", func(*admission, *Stream, *Stream) {}, false},
		{"one cancelled", func(_ *admission, one, _ *Stream) { one.cancelled.Store(&why) }, false},
		{"both cancelled", func(_ *admission, one, two *Stream) { one.cancelled.Store(&why); two.cancelled.Store(&why) }, true},
		{"closed", func(a *admission, _, _ *Stream) { a.close() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newAdmission(), newBatch(&Config{Slots: 2})
			one, two := &Stream{}, &Stream{}
			b.owners = []*slot{{st: one}, {st: two}}
			b.begin(&a)
			if b.stop.Load() {
				t.Fatal("it is stopped at once")
			}
			c.then(&a, one, two)
			if got := b.stopUnwanted(&a); got != c.stop || b.stop.Load() != c.stop {
				t.Errorf("stopped: %t, and %t for the executor; want %t", got, b.stop.Load(), c.stop)
			}
			b.end()
			if b.stopUnwanted(&a) || b.interrupt() {
				t.Error("a step that has ended is stopped")
			}
			if b.begin(&a); b.stop.Load() != c.stop {
				t.Errorf("the next step of the same requests is stopped: %t, want %t", b.stop.Load(), c.stop)
			}
			if !b.interrupt() || !b.stop.Load() {
				t.Error("a step in flight is not interrupted")
			}
		})
	}
}
