package observe

import "testing"

// The events that are kept are bounded, batches that come back are one event,
// and no observer needs to be there.
func TestEventsAreBounded(t *testing.T) {
	(*Observer)(nil).Pressure(Event{Kind: Left})
	o := &Observer{}
	for range 3 {
		o.Pressure(Event{Kind: Back, Moves: 2, Bytes: 5, Took: 7, Limit: 9})
	}
	if e := o.tally.Events; len(e) != 1 || e[0].Moves != 6 || e[0].Bytes != 15 || e[0].Took != 21 {
		t.Errorf("batches: %+v", e)
	}
	for range 40 {
		o.Pressure(Event{Kind: Left, Moves: 1})
	}
	if n := len(o.tally.Events); n != maxEvents || o.tally.More != 41-maxEvents {
		t.Errorf("%d events are kept, %d more counted", n, o.tally.More)
	}
}
