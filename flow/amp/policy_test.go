package amp

import (
	"testing"
	"time"
)

// TestHistory: the first new child starts at once, the others after delays that double, and faults of more than a minute
// ago do not count.
func TestHistory(t *testing.T) {
	t.Parallel()
	var h history
	at := 1000 * time.Second
	for _, c := range []struct {
		after       time.Duration
		wait        time.Duration
		quarantined bool
	}{
		{0, 0, false},
		{50 * time.Second, backOff, false},
		{15 * time.Second, backOff, false}, // the first is forgotten
		{10 * time.Second, 2 * backOff, true},
		{0, 4 * backOff, true},
		{61 * time.Second, 0, false},
	} {
		at += c.after
		if wait, q := h.fault(at); wait != c.wait || q != c.quarantined {
			t.Errorf("after %v: %v, %v", c.after, wait, q)
		}
	}
	for range 100 {
		if wait, _ := h.fault(at); wait > mostBackOff {
			t.Fatal(wait)
		}
	}
}
