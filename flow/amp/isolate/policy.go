package isolate

import "time"

// What a child may do before it is left alone.
const (
	crashWindow    = 60 * time.Second
	crashLimit     = 3
	backOff        = 100 * time.Millisecond // before the second new child, twice as long before each later one
	timeoutLimit   = 3                      // in a row
	defaultTimeout = 5 * time.Second
)

// A history is when children of one library crashed.
type history struct{ at []time.Time }

// crash notes a crash and says how long to wait for the next child, or that
// there should be none.
func (h *history) crash(now time.Time) (wait time.Duration, quarantined bool) {
	kept := h.at[:0]
	for _, t := range h.at {
		if now.Sub(t) < crashWindow {
			kept = append(kept, t)
		}
	}
	h.at = append(kept, now)
	n := len(h.at)
	if n >= crashLimit {
		return 0, true
	}
	if n == 1 {
		return 0, false
	}
	return backOff << (n - 2), false
}
