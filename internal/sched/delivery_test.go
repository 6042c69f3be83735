package sched

import (
	"fmt"
	"testing"
)

// TestDeliveryDecisions: the last decisions are kept, in order, those of all requests or
// of one.
func TestDeliveryDecisions(t *testing.T) {
	var d delivery
	const more = 10
	for i := range decisionsKept + more {
		d.record(Decision{Request: fmt.Sprint(i % 2), Observed: int64(i)}, uint64(i))
	}
	all, odd := d.why(""), d.why("1")
	if len(all) != decisionsKept || len(odd) != decisionsKept/2 {
		t.Fatalf("%d decisions and %d of one request are kept, want %d and half of them", len(all), len(odd), decisionsKept)
	}
	for i, x := range all {
		if want := uint64(i + more); x.Step != want || x.Observed != int64(want) {
			t.Fatalf("decision %d is of step %d, want %d", i, x.Step, want)
		}
	}
}

// TestDeliveryView: what is shown of the slots is a copy, until it is shown anew.
func TestDeliveryView(t *testing.T) {
	steps := 0
	d := newDelivery(&Config{Watch: func(StepInfo) { steps++ }})
	slots := []*slot{{id: 0}, {id: 1, by: "r"}}
	d.publish(slots)
	view := d.slots()
	d.publish(slots[:1])
	if len(view) != 2 || view[1].Slot != 2 || view[1].Request != "r" || view[1].Phase != phaseEnded {
		t.Errorf("shown: %+v", view)
	}
	view[0].Request = "changed"
	if got := d.slots(); len(got) != 1 || got[0].Request != "" {
		t.Errorf("shown then: %+v", got)
	}
	d.report(StepInfo{})
	if (&delivery{}).report(StepInfo{}); steps != 1 {
		t.Errorf("%d steps are reported, want 1", steps)
	}
}
