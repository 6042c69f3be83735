package await

import (
	"testing"
	"testing/synctest"
	"time"
)

// ends is a test with little time left, which notes that it failed.
type ends struct {
	testing.TB
	end    time.Time
	failed bool
}

func (e *ends) Helper()                     {}
func (e *ends) Deadline() (time.Time, bool) { return e.end, true }
func (e *ends) Fatalf(string, ...any)       { e.failed = true; panic(e) }

// TestAwait: a sign ends the wait at once, the test's own deadline fails it
// before its time is over, and a test without one waits.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := &ends{end: time.Now().Add(time.Hour)}
		come := time.Now().Add(time.Minute)
		Until(long, "a minute", func() bool { return time.Now().After(come) })
		if d := time.Since(come); d > 2*pause {
			t.Errorf("%v after the sign", d)
		}
		c := make(chan int, 1)
		time.AfterFunc(time.Minute, func() { c <- 7 })
		if v := Value(long, "seven", c); v != 7 {
			t.Errorf("%d, want 7", v)
		}
		for name, wait := range map[string]func(testing.TB){
			"a sign":  func(t testing.TB) { Until(t, "a sign", func() bool { return false }) },
			"a value": func(t testing.TB) { Value(t, "a value", c) },
		} {
			e := &ends{end: time.Now().Add(2 * time.Minute)}
			func() {
				defer func() { _ = recover() }()
				wait(e)
			}()
			if left := time.Until(e.end); !e.failed || left <= 0 || left > margin {
				t.Errorf("%s that does not come: failed is %v with %v left", name, e.failed, left)
			}
		}
	})
}
