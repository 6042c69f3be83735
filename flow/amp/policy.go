package amp

import "time"

// Limits of the restart policy.
const (
	crashWindow    = 60 * time.Second
	crashLimit     = 3
	backOff        = 100 * time.Millisecond // before the second restart; doubles with each further one
	timeoutLimit   = 3                      // consecutive
	defaultTimeout = 5 * time.Second
)

// A history is the times of crashes of one library's children.
type history struct{ at []time.Time }

// crash records a crash and returns how long to wait before the next child, or
// that the library is quarantined.
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
