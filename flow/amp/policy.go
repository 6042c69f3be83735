package amp

import "time"

// Limits of the restart policy. Times are of the stream, so that a run without a clock is like one in real time.
const (
	faultWindow = 60 * time.Second
	faultLimit  = 3                      // in the window: the library is quarantined
	backOff     = 100 * time.Millisecond // before the second restart; doubles with each further one
	mostBackOff = 10 * time.Second

	timeoutLimit    = 3 // waits in a row
	defaultTimeout  = 5 * time.Second
	defaultPatience = 250 * time.Millisecond
	printDelay      = 100 * time.Millisecond // for what a child's own children still print
	mostPrinted     = 2048                   // bytes
	mostLeft        = 512                    // events that nothing asked for
)

// A history is when the children of one library failed.
type history struct{ at []time.Duration }

// fault records a fault and returns how long to wait before the next child, and whether the library is quarantined
// meanwhile.
func (h *history) fault(now time.Duration) (wait time.Duration, quarantined bool) {
	kept := h.at[:0]
	for _, t := range h.at {
		if now-t < faultWindow {
			kept = append(kept, t)
		}
	}
	h.at = append(kept, now)
	n := len(h.at)
	if n == 1 {
		return 0, false
	}
	return min(backOff<<min(n-2, 10), mostBackOff), n >= faultLimit
}
