// Package await lets tests wait for signs instead of for time: a line in a log,
// an open port, a value on a channel. The one deadline is the test's own
// (-timeout), so a busy machine makes a test slower and never red; shortly
// before it the test fails with the name of the sign that did not come.
//
//	await.Until(t, "the server's address", func() bool { return address() != "" })
//	r := await.Value(t, "an answer", answers)
//
// Only tests import this package. It is the one place where tests sleep between
// two looks at something that cannot tell by itself that it has changed.
package await

import (
	"os"
	"testing"
	"time"
)

// margin is left of the test's time to report what did not come, and to clean up.
const margin = 15 * time.Second

// pause lies between two looks at a sign.
const pause = time.Millisecond

// Until returns as soon as ok is true, and fails the test shortly before its
// deadline. A test without one (-timeout 0) waits as long as it takes.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := deadline(t)
	for !ok() {
		select {
		case <-late:
			t.Fatalf("the test's time is over without %s", what)
		case <-time.After(pause):
		}
	}
}

// Value returns the next value of c, or the zero value once c is closed.
func Value[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-deadline(t):
		t.Fatalf("the test's time is over without %s", what)
		panic("unreachable")
	}
}

// deadline sends when the test has no more time to wait; nil never does.
func deadline(t testing.TB) <-chan time.Time {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return nil // a benchmark
	}
	end, ok := d.Deadline()
	if !ok {
		return nil
	}
	return time.After(time.Until(end) - margin)
}

// Long reports whether the long forms of tests are wanted, as they run at night:
// whole trainings instead of the fewest steps that show each fault.
func Long() bool { return os.Getenv("ATENIA_LONG") != "" }
