package amp

import (
	"testing"
	"time"
)

// TestHistory: the first new child starts at once, the second after a delay, and
// three crashes within a minute quarantine the library.
func TestHistory(t *testing.T) {
	t.Parallel()
	var h history
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		after       time.Duration
		wait        time.Duration
		quarantined bool
	}{
		{0, 0, false},
		{50 * time.Second, backOff, false},
		{15 * time.Second, backOff, false}, // the first is forgotten
		{10 * time.Second, 0, true},
	} {
		at = at.Add(c.after)
		if wait, q := h.crash(at); wait != c.wait || q != c.quarantined {
			t.Errorf("after %v: %v, %v", c.after, wait, q)
		}
	}
}
